#!/bin/sh
# keep_listing.sh COMPILER ARGUMENT...: runs the compiler, and keeps what the assembler of GPU code says of each kernel beside the object,
# as OBJECT.listing. All else that is said is shown. The object forgets the name of the compiler's temporary file, which is another each time.
object=""
before=""
for argument; do
  [ "$before" = -o ] && object=$argument
  before=$argument
done
said=$("$@" 2>&1)
status=$?
[ $status -ne 0 ] || objcopy --wildcard --strip-symbol 'tmpxft_*' "$object"
printf '%s\n' "$said" >"$object.listing"
printf '%s\n' "$said" | grep -vE '^$|^ptxas info|^ +[0-9]+ bytes stack frame' >&2
exit $status

# What bash completes: complete.sh SCRIPT
source "$1"
words() {
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  _ashlar
  echo "${COMPREPLY[*]}"
}
words ashlar sim
words ashlar emit 1f1b --as py
words ashlar show v-h
words ashlar simulate 1f1b --optimizer-t

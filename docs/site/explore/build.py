#!/usr/bin/env python3
"""Make the page that explores schedules: one file, with the algebra, the catalog and the search as WebAssembly in it.

usage: build.py --out FILE [--compiler clang++-19]

On Debian 12 it takes clang-19 lld wasi-libc libc++-dev-wasm32 libclang-rt-14-dev-wasm32. Without them the exit code is 77: skipped.
"""
import argparse
import base64
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
SKIPPED = 77
STARTS = Path("/usr/lib/wasm32-wasi/crt1-reactor.o")


def compiled(compiler):
    """The bytes of the module; None where a tool or library is missing."""
    built_ins = sorted(Path("/usr/lib").glob("llvm-*/lib/clang/*/lib/wasi/libclang_rt.builtins-wasm32.a"))
    linker = shutil.which("wasm-ld")
    if not shutil.which(compiler) or not linker or not STARTS.is_file() or not built_ins or not Path("/usr/include/wasm32-wasi/c++").is_dir():
        return None
    # libc++ 14 has no constexpr vector: C++23 lets functions be constexpr that cannot be evaluated then. What is thrown goes to the page.
    flags = ["--target=wasm32-wasi", "-std=c++23", "-Oz", "-fexceptions", "-Wno-invalid-constexpr", f"-I{ROOT}/include"]
    links = ["-nostartfiles", "-nodefaultlibs", f"-fuse-ld={linker}", "-Wl,--no-entry,--strip-all,--gc-sections,-z,stack-size=1048576",
             "-Wl,--export=_initialize", str(STARTS), "-lc++", "-lc++abi", "-lc", str(built_ins[0])]
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder, "explore.wasm")
        subprocess.run([compiler, *flags, str(HERE / "explore.cpp"), "-o", str(module), *links], check=True)
        return module.read_bytes()


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--out", type=Path, required=True)
    ask.add_argument("--compiler", default="clang++-19")
    options = ask.parse_args()
    module = compiled(options.compiler)
    if module is None:
        print(f"skipped: without {options.compiler}, wasm-ld, or the C and C++ libraries of wasm32-wasi")
        return SKIPPED
    page = (HERE / "explore.html").read_text().replace("MODULE", base64.b64encode(module).decode())
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(page)
    print(f"{options.out}: {len(page) // 1024} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

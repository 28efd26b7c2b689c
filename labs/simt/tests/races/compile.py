#!/usr/bin/env python3
"""Writes the PTX beside each .cu of this folder.

    pip install --target nvrtc nvidia-cuda-nvrtc-cu12==12.9.86 \
        nvidia-cuda-runtime-cu12==12.9.79 nvidia-cuda-cccl-cu12
    python3 compile.py nvrtc
"""

import ctypes
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent


def compile_to_ptx(nvrtc, includes, path):
    source = path.read_text()
    architecture = "compute_90" if source.startswith("// arch compute_90") else "compute_75"
    options = [f"--gpu-architecture={architecture}", "--generate-line-info"]
    options += [f"--include-path={folder}" for folder in [HERE, *includes]]
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(
        ctypes.byref(program), source.encode(), path.name.encode(), 0, None, None
    )
    arguments = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    status = nvrtc.nvrtcCompileProgram(program, len(options), arguments)
    if status != 0:
        sys.exit(f"{path.name}: {fetch(nvrtc, program, 'ProgramLog')}")
    return fetch(nvrtc, program, "PTX")


def fetch(nvrtc, program, what):
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, text)
    return text.value.decode()


def main():
    packages = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "nvrtc") / "nvidia"
    nvrtc = ctypes.CDLL(str(packages / "cuda_nvrtc/lib/libnvrtc.so.12"))
    includes = [packages / "cuda_runtime/include", packages / "cuda_cccl/include"]
    for path in sorted(HERE.glob("*.cu")):
        ptx = compile_to_ptx(nvrtc, includes, path)
        # NVRTC writes where it ran into `.file`; the name alone is meant.
        ptx = ptx.replace(f"{pathlib.Path.cwd()}/", "").replace(f"{HERE}/", "")
        path.with_suffix(".ptx").write_text(ptx)


if __name__ == "__main__":
    main()

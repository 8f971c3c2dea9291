"""Turn `protos/` into the committed stubs, prove them fresh, and build the image that buf lints.

    python tools/protos.py generate      rewrite libs/okey/api and libs/buf
    python tools/protos.py check         exit 1 if the committed stubs are not what protos/ gives
    python tools/protos.py image PATH    write one self-contained FileDescriptorSet of our files

Our protos import `buf/validate/validate.proto`, which no wheel ships as text. The protovalidate
wheel holds its descriptor, so that is handed to protoc as a set; the stub of that one foreign file
is generated too (libs/buf), because the stubs of ours import it.
"""

import argparse
import filecmp
import shutil
import sys
import tempfile
from pathlib import Path

from google.rpc import status_pb2
from grpc_tools import protoc
from protovalidate._gen.buf.validate import validate_pb

ROOT = Path(__file__).resolve().parent.parent
PROTOS = ROOT / "protos"
LIBS = ROOT / "libs"
VALIDATE_PROTO = "buf/validate/validate.proto"
PLUGINS = ("protoc-gen-mypy", "protoc-gen-mypy_grpc")
# Folders under libs/ that hold nothing but generated files.
GENERATED = (Path("okey/api"), Path("buf"))


class ProtocError(Exception):
    """protoc refused its input; it has said why on stderr."""


def own_files() -> list[str]:
    """The paths of our protos, relative to `protos/`, sorted."""
    found = sorted(str(path.relative_to(PROTOS)) for path in PROTOS.rglob("*.proto"))
    if not found:
        raise ProtocError(f"no .proto file under {PROTOS}; expected okey/api/<service>/v1/*.proto")
    return found


def run_protoc(arguments: list[str], proto_files: list[str], work: Path) -> None:
    """Run protoc over the files with every import that we use within reach; raises ProtocError."""
    validate_set = work / "validate.binpb"
    # A FileDescriptorSet of one file: field 1, length-delimited.
    content = validate_pb.desc().proto.to_binary()
    validate_set.write_bytes(b"\x0a" + _varint(len(content)) + content)
    # The wheels of protoc and of googleapis-common-protos ship .proto files beside their modules.
    well_known = Path(protoc.__file__).with_name("_proto")
    googleapis = Path(status_pb2.__file__).parents[2]
    includes = [PROTOS, well_known, googleapis]
    command = ["protoc", f"--descriptor_set_in={validate_set}"]
    command += [f"--proto_path={path}" for path in includes]
    command += [f"--plugin={name}={Path(sys.executable).with_name(name)}" for name in PLUGINS]
    if protoc.main([*command, *arguments, *proto_files]) != 0:
        raise ProtocError(f"protoc failed on {', '.join(proto_files)}")


def _varint(value: int) -> bytes:
    """The base-128 varint of a non-negative number."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def generate(target: Path, work: Path) -> None:
    """Write all stubs below `target` (okey/api/... and buf/...), packages included."""
    messages = [f"--python_out={target}", f"--mypy_out=quiet:{target}"]
    services = [f"--grpc_python_out={target}", f"--mypy_grpc_out=quiet,only_async:{target}"]
    run_protoc(messages, [VALIDATE_PROTO], work)
    run_protoc(messages + services, own_files(), work)
    _drop_stubs_without_service(target)
    for top in GENERATED:
        folders = [target / top, *(path for path in (target / top).rglob("*") if path.is_dir())]
        for folder in folders:
            name = ".".join(folder.relative_to(target).parts)
            (folder / "__init__.py").write_text(f'"""Generated from protos/: {name}."""\n', "utf-8")


def _drop_stubs_without_service(target: Path) -> None:
    """Remove the gRPC stubs of files that declare no service: they would be empty modules."""
    for stub in target.rglob("*_pb2_grpc.py"):
        if "Servicer_to_server(" not in stub.read_text("utf-8"):
            stub.unlink()
            stub.with_suffix(".pyi").unlink(missing_ok=True)


def relative_files(top: Path) -> set[str]:
    """All files below a folder as relative paths, byte code apart."""
    return {
        str(path.relative_to(top))
        for path in top.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def differences(fresh: Path, committed: Path) -> list[str]:
    """The files that differ or stand on one side only, one line each; empty when all is fresh."""
    lines = []
    for top in GENERATED:
        new, old = relative_files(fresh / top), relative_files(committed / top)
        lines += [f"missing: {top / name}" for name in sorted(new - old)]
        lines += [f"left over: {top / name}" for name in sorted(old - new)]
        lines += [
            f"differs: {top / name}"
            for name in sorted(new & old)
            if not filecmp.cmp(fresh / top / name, committed / top / name, shallow=False)
        ]
    return lines


def replace_committed(fresh: Path, committed: Path) -> None:
    """Make the committed folders equal the fresh ones; stale files go, equal ones stay as is."""
    for top in GENERATED:
        for name in relative_files(committed / top) - relative_files(fresh / top):
            (committed / top / name).unlink()
        for name in relative_files(fresh / top):
            source, destination = fresh / top / name, committed / top / name
            if destination.exists() and filecmp.cmp(source, destination, shallow=False):
                continue
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, destination)


def main(argv: list[str] | None = None) -> int:
    """Run one of the three commands; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("command", choices=["generate", "check", "image"])
    parser.add_argument("path", nargs="?", type=Path, help="where `image` writes")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        work, fresh = Path(folder), Path(folder, "fresh")
        fresh.mkdir()
        try:
            if arguments.command == "image":
                if arguments.path is None:
                    parser.error("image needs a path")
                wanted = f"--descriptor_set_out={arguments.path}"
                flags = ["--include_imports", "--include_source_info", wanted]
                run_protoc(flags, own_files(), work)
                return 0
            generate(fresh, work)
        except ProtocError as error:
            print(error, file=sys.stderr)
            return 1
        if arguments.command == "generate":
            replace_committed(fresh, LIBS)
            return 0
        lines = differences(fresh, LIBS)
        print("\n".join([*lines, "run `make protos` and commit"] if lines else ["stubs are fresh"]))
        return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())

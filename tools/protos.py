"""Turn `protos/` into the committed stubs, prove them fresh, and build the image that buf lints.

    python tools/protos.py generate      rewrite libs/okey/api and libs/buf
    python tools/protos.py check         exit 1 if the committed stubs are not what protos/ gives
    python tools/protos.py image PATH    write one self-contained FileDescriptorSet of our files
    python tools/protos.py breaking      exit 1 if callers built from the released image would break
    python tools/protos.py release       make what protos/ gives now the released image

Our protos import `buf/validate/validate.proto`, which no wheel ships as text. The protovalidate
wheel holds its descriptor, so that is handed to protoc as a set; the stub of that one foreign file
is generated too (libs/buf), because the stubs of ours import it.
"""

import argparse
import filecmp
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from google.rpc import status_pb2
from grpc_tools import protoc
from protovalidate._gen.buf.validate import validate_pb

ROOT = Path(__file__).resolve().parent.parent
PROTOS = ROOT / "protos"
LIBS = ROOT / "libs"
RELEASED = PROTOS / "released" / "okey.binpb"
BUF_CONFIG = ROOT / "buf.yaml"
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


def write_image(path: Path, work: Path, *flags: str) -> None:
    """Write one FileDescriptorSet of our files and all that they import; raises ProtocError."""
    run_protoc(["--include_imports", f"--descriptor_set_out={path}", *flags], own_files(), work)


def breaking_changes(current: Path, released: Path) -> list[str]:
    """What in one image would break callers that were built from another, a line each.

    The rules are those of `buf.yaml`: what is on the wire, in JSON and in generated code stays.
    Raises ProtocError where buf cannot compare the two.
    """
    done = subprocess.run(
        [
            *(Path(sys.executable).with_name("buf"), "breaking", current),
            *("--against", released, "--config", BUF_CONFIG, "--exclude-imports"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    # 100 is buf's status for findings, which stand on its output.
    if done.returncode not in (0, 100):
        raise ProtocError(f"buf could not compare {current} with {released}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def command_generate(work: Path) -> int:
    """Make the committed stubs what protos/ gives."""
    fresh = work / "fresh"
    fresh.mkdir()
    generate(fresh, work)
    replace_committed(fresh, LIBS)
    return 0


def command_check(work: Path) -> int:
    """Tell which stubs are not fresh; status 1 if any."""
    fresh = work / "fresh"
    fresh.mkdir()
    generate(fresh, work)
    lines = differences(fresh, LIBS)
    print("\n".join([*lines, "run `make protos` and commit"] if lines else ["stubs are fresh"]))
    return 1 if lines else 0


def command_breaking(work: Path) -> int:
    """Tell what would break callers of the released interface; status 1 if anything would."""
    current = work / "current.binpb"
    write_image(current, work)
    lines = breaking_changes(current, RELEASED)
    advice = "callers of the released interface would break: see docs/api.md, How it changes"
    print("\n".join([*lines, advice] if lines else ["nothing breaks callers of the release"]))
    return 1 if lines else 0


def command_release(work: Path) -> int:
    """Make what protos/ gives now the released image; callers are held to it from then on."""
    RELEASED.parent.mkdir(exist_ok=True)
    write_image(RELEASED, work)
    return 0


COMMANDS: dict[str, Callable[[Path], int]] = {
    "generate": command_generate,
    "check": command_check,
    "breaking": command_breaking,
    "release": command_release,
}


def main(argv: list[str] | None = None) -> int:
    """Run one of the commands; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("command", choices=[*COMMANDS, "image"])
    parser.add_argument("path", nargs="?", type=Path, help="where `image` writes")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        try:
            if arguments.command != "image":
                return COMMANDS[arguments.command](Path(folder))
            if arguments.path is None:
                parser.error("image needs a path")
            write_image(arguments.path, Path(folder), "--include_source_info")
        except ProtocError as error:
            print(error, file=sys.stderr)
            return 1
        return 0


if __name__ == "__main__":
    sys.exit(main())

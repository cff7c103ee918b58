"""A second `scripts/run` finds everything done and starts the program in under a second."""
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT_S = 1.0


def main():
    build = pathlib.Path(sys.argv[1])
    if build.parent != ROOT / "build" or not (build / ".configured").exists():
        print(f"skipped: {build} was not configured by scripts/run or scripts/test")
        return 77
    command = [ROOT / "scripts" / "run", "forecast", "--version"]
    environment = dict(os.environ, KERNELCAST_PRESET=build.name)
    seconds = []
    for _ in range(4):
        start = time.monotonic()
        subprocess.run(command, env=environment, check=True)
        seconds.append(time.monotonic() - start)
    print("seconds:", *(f"{s:.2f}" for s in seconds))
    return 0 if min(seconds[1:]) < LIMIT_S else 1


if __name__ == "__main__":
    sys.exit(main())

#!/bin/sh
# A stand-in for the docker command: it notes what it is called with, and in place of a container
# it runs the pinned program in a session of its own. A file `fail` beside it says what fails.
state=$(dirname "$0")
fail=$(cat "$state/fail" 2> /dev/null)
printf '%s\n' "$*" >> "$state/calls"
digest=sha256:$(printf 'd%.0s' $(seq 64))
case "$1 $2" in
"info "*)
    if [ "$fail" = no-daemon ]; then
        echo "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?" >&2
        exit 1
    fi
    echo '27.3.1 ["name=seccomp,profile=builtin"]'
    ;;
"image inspect")
    if [ ! -e "$state/pulled" ]; then
        echo "Error: No such image: $5" >&2
        exit 1
    fi
    [ "$fail" = wrong-digest ] && digest=sha256:$(printf 'e%.0s' $(seq 64))
    list="\"nginx@$digest\""
    [ "$fail" = no-digest ] && list=
    echo "sha256:$(printf 'a%.0s' $(seq 64)) [$list]"
    ;;
"pull "*)
    if [ "$fail" = refused ]; then
        echo "Error response from daemon: manifest for $2 not found: manifest unknown" >&2
        exit 1
    fi
    printf '1.31.5: Pulling from library/nginx\nDigest: %s\n' "$digest"
    touch "$state/pulled"
    ;;
"inspect "*)
    cat "$state/container-$4"
    ;;
"rm "*)
    rm -f "$state/container-$3"
    ;;
"run "*)
    name= inside=
    while [ $# -gt 0 ]; do
        case "$1" in
        --name) name=$2 ;;
        --entrypoint) shift 3; break ;;
        esac
        shift
    done
    if [ "$1" = -v ]; then
        version=1.31.5
        [ "$fail" = other-version ] && version=1.30.0
        echo "nginx version: nginx/$version" >&2
        exit 0
    fi
    if [ "$fail" = dies ]; then
        echo "nginx: [emerg] no such directive in an image" >&2
        exit 1
    fi
    LD_LIBRARY_PATH="@LIBRARIES@" setsid "@PROGRAM@" "$@" &
    inside=$!
    echo "$inside" > "$state/container-$name"
    # A client passes on what it is told; one that is killed leaves the container running.
    trap 'kill -TERM $inside' TERM INT
    wait "$inside"
    status=$?
    while kill -0 "$inside" 2> /dev/null; do wait "$inside"; done
    exit "$status"
    ;;
esac

//! Container images as a source, with a stand-in for the docker command that runs the pinned
//! program in place of a container. A real engine has not been tried.

#![allow(clippy::unwrap_used, reason = "a helper of a test may panic as the test itself may")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::{Origin, executable, options};
use proxies::source::Docker;
use proxies::{Proxies, Running};

/// The stand-in in a folder of its own; none, and the reason is printed, without the program
/// that it runs.
fn stand_in() -> Option<tempfile::TempDir> {
    let row = common::PROXIES.fetch(&["nginx"], &mut |_| {}).unwrap().remove(0).1;
    let program = match row {
        Ok(program) => program,
        Err(why) => {
            println!("SKIPPED(nginx: {why})");
            return None;
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let libraries = program.environment.get("LD_LIBRARY_PATH").cloned().unwrap_or_default();
    let script = include_str!("common/docker.sh")
        .replace("@PROGRAM@", program.path.to_str().unwrap())
        .replace("@LIBRARIES@", &libraries);
    executable(&docker(folder.path()), &script);
    Some(folder)
}

fn docker(folder: &Path) -> PathBuf {
    folder.join("docker")
}

fn calls(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("calls")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// nginx by images, told to fail in that way if in any.
fn start(folder: &Path, fail: &str, said: &mut Vec<String>) -> Result<(Running, Origin), String> {
    fs::write(folder.join("fail"), fail).unwrap();
    let mut proxies = Proxies::of_user(Vec::new()).unwrap();
    proxies.use_images(Docker::called(docker(folder)));
    let origin = Origin::start();
    proxies
        .start("nginx", origin.address, &options(), &mut |step| said.push(step.to_string()))
        .map(|running| (running, origin))
        .map_err(|error| error.to_string())
}

#[test]
fn an_image_runs_as_the_binary_would_and_leaves_nothing() {
    let Some(folder) = stand_in() else { return };
    let mut said = Vec::new();
    let (running, _origin) = start(folder.path(), "", &mut said).unwrap();
    let program = running.program();
    assert_eq!(program.version.as_str(), "1.31.5");
    assert_eq!(program.source.to_string(), "docker nginx:1.31.5");
    assert_eq!(program.sha256.to_string(), "d".repeat(64));
    assert_eq!(said[0], "nginx: fetching nginx:1.31.5");
    assert_eq!(said[1], "nginx: 1.31.5: Pulling from library/nginx");
    assert!(common::get(running.listen(), "/stream", "").contains(common::BODY));
    assert!(!running.processes().is_empty(), "the engine's own child is found");

    let ran = calls(folder.path()).into_iter().find(|call| call.contains("--network host"));
    let ran = ran.unwrap();
    let scratch = running.scratch().to_str().unwrap().to_owned();
    let name = running.scratch().file_name().unwrap().to_str().unwrap().to_owned();
    let user = format!("--user {}:{} ", nix::unistd::geteuid(), nix::unistd::getegid());
    for part in [
        format!("run --rm --name {name} --pull never "),
        user,
        "--security-opt no-new-privileges ".into(),
        format!("--mount type=bind,src={scratch},dst={scratch} "),
        format!("src={scratch}/nginx.conf,dst={scratch}/nginx.conf,readonly "),
        // By the image's own id: a tag may move between the look and the start.
        format!("--entrypoint nginx sha256:{} -p {scratch} ", "a".repeat(64)),
    ] {
        assert!(ran.contains(&part), "{part} in {ran}");
    }
    running.stop().unwrap();
    assert_eq!(calls(folder.path()).last().unwrap(), &format!("rm -f {name}"));
    assert!(!folder.path().join(format!("container-{name}")).exists());

    // What is there is not pulled again.
    let (running, _origin) = start(folder.path(), "", &mut said).unwrap();
    drop(running);
    let pulls = calls(folder.path()).iter().filter(|call| call.starts_with("pull ")).count();
    assert_eq!(pulls, 1);
}

/// A client that is killed says nothing to its container; the supervisor removes it by name.
#[test]
fn a_container_goes_when_its_client_is_killed() {
    let Some(folder) = stand_in() else { return };
    let (mut running, _origin) = start(folder.path(), "", &mut Vec::new()).unwrap();
    let name = running.scratch().file_name().unwrap().to_str().unwrap().to_owned();
    let client = nix::unistd::Pid::from_raw(running.pid());
    nix::sys::signal::kill(client, nix::sys::signal::Signal::SIGKILL).unwrap();
    common::until("it has ended", Duration::from_secs(15), || !running.is_alive());
    assert_eq!(calls(folder.path()).last().unwrap(), &format!("rm -f {name}"));
}

#[test]
fn what_cannot_be_had_is_one_line_and_nothing_takes_its_place() {
    let Some(folder) = stand_in() else { return };
    for (fail, line) in [
        (
            "no-daemon",
            "cannot run nginx:1.31.5: docker reaches no engine; start it, or leave out \
             --source docker (docker says: Cannot connect to the Docker daemon",
        ),
        (
            "refused",
            "cannot pull nginx:1.31.5: docker got none; try `docker pull nginx:1.31.5` (docker \
             says: Error response from daemon: manifest for nginx:1.31.5 not found",
        ),
        ("wrong-digest", "refused nginx:1.31.5: docker pulled dddd"),
        ("no-digest", "refused nginx:1.31.5: docker names no digest of it"),
        ("other-version", "refused nginx:1.31.5: its program says it is 1.30.0"),
        (
            "dies",
            "cannot start nginx: it ended with status 1; it says: nginx: [emerg] no such \
             directive in an image",
        ),
    ] {
        let error = start(folder.path(), fail, &mut Vec::new()).map(drop).unwrap_err();
        assert!(error.starts_with(line), "{fail}: {error}");
        assert!(!error.contains('\n'), "{fail}: {error}");
    }
    assert!(calls(folder.path()).last().unwrap().starts_with("rm -f holdup-nginx-"));
    fs::remove_file(docker(folder.path())).unwrap();
    let error = start(folder.path(), "", &mut Vec::new()).map(drop).unwrap_err();
    assert!(error.starts_with("cannot run nginx:1.31.5: no /"), "{error}");
}

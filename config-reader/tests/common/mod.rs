//! The pinned nginx, running a configuration that a test wrote.

#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, reason = "a helper of a test may panic as the test itself may")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use proxies::Proxies;

/// The pinned nginx; none, and the reason is printed, if it cannot be had here.
pub(crate) fn nginx() -> Option<PathBuf> {
    let proxies = Proxies::of_user(Vec::new()).unwrap();
    let mut fetched = proxies.fetch(&["nginx"], &mut |step| println!("{step}")).unwrap();
    match fetched.remove(0).1 {
        Ok(program) => Some(program.path),
        Err(why) => {
            println!("SKIPPED(nginx: {why})");
            None
        }
    }
}

/// Ports that were free a moment ago.
pub(crate) fn ports<const N: usize>() -> [u16; N] {
    let held: Vec<TcpListener> =
        (0..N).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    std::array::from_fn(|index| held[index].local_addr().unwrap().port())
}

/// nginx in one process; it ends with this.
pub(crate) struct Running {
    child: Child,
    folder: tempfile::TempDir,
}

impl Running {
    /// Starts it and waits until it accepts at a port.
    pub(crate) fn start(nginx: &PathBuf, config: &str, port: u16) -> Running {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nginx.conf");
        std::fs::write(&path, config).unwrap();
        let mut command = Command::new(nginx);
        command.arg("-p").arg(folder.path()).args(["-e", "stderr", "-c"]).arg(&path);
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let child = command.stdin(Stdio::null()).stderr(log).spawn().unwrap();
        let mut running = Running { child, folder };
        let until = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = running.child.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < until, "{}\n{config}", running.log());
            std::thread::sleep(Duration::from_millis(5));
        }
        running
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What every configuration of the tests starts with.
pub(crate) const HEAD: &str = "daemon off;\nmaster_process off;\npid nginx.pid;\n\
    error_log stderr crit;\nevents { worker_connections 512; }\n";

/// And `http` with.
pub(crate) const HTTP: &str = "access_log off;\nclient_body_temp_path t1;\nproxy_temp_path t2;\n\
    fastcgi_temp_path t3;\nuwsgi_temp_path t4;\nscgi_temp_path t5;\nroot /nonexistent;\n\
    server_names_hash_bucket_size 128;\nserver_names_hash_max_size 4096;\n";

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let named = self.headers.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str()).collect()
    }
}

/// Asks and reads to the end.
pub(crate) fn get(port: u16, host: &str, path: &str, more: &str) -> Answer {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{request} {text}"));
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.into(), value.into())).collect();
    Answer { status, headers, body: body.into() }
}

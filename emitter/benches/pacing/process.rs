//! Children under a role, and what the kernel says of them.

use std::io::{self, BufRead, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::client::Load;
use crate::machine::{Processors, cpu_of, resident};
use crate::report::Figures;

/// A child that is spoken with by lines; it ends when its standard input closes.
pub(crate) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Process {
    fn start(arguments: &[String]) -> io::Result<Process> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("--role")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Process { child, input, output: BufReader::new(output) })
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err(io::Error::other("a child ended before it answered"));
        }
        Ok(line.trim_end().to_string())
    }

    fn ask(&mut self, question: &str) -> io::Result<String> {
        if let Some(input) = &mut self.input {
            writeln!(input, "{question}")?;
        }
        self.line()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One run of one emitter under one load.
pub(crate) fn measure(emitter: &str, load: &Load) -> io::Result<Figures> {
    let mut server = Process::start(&[emitter.to_string()])?;
    let address = server.line()?;
    // A stream of its own before the counting: what the first request alone costs (code pages,
    // the allocator's first arenas) belongs to no stream.
    let warm = Load {
        streams: 1,
        interval_us: 1_000,
        frames: 5,
        ramp: Duration::ZERO,
        first_run: u64::MAX,
    };
    read(&address, &warm)?.line()?;
    let (emitter, before) = (server.child.id(), resident(server.child.id()));
    let mut client = read(&address, load)?;
    let reader = client.child.id();
    let used = || Some((Processors::now()?, cpu_of(emitter)?, cpu_of(reader)?));
    // From here on all streams are open. Memory is looked at in the middle: by then ledgers,
    // too, have grown.
    let steady = load.interval_us * u64::from(load.frames) - load.ramp.as_micros() as u64;
    let (from, then) = (Instant::now(), used());
    std::thread::sleep(Duration::from_micros(steady / 2));
    let grown = resident(emitter).zip(before).map(|(now, then)| now.saturating_sub(then));
    std::thread::sleep(Duration::from_micros(steady * 2 / 5));
    let (seconds, now) = (from.elapsed().as_secs_f64(), used());
    let ended = client.line()?;
    let mut figures = Figures::parse(&server.ask(&format!("figures {}", load.streams))?)
        .ok_or_else(|| io::Error::other("the emitter's figures cannot be read"))?;
    figures.streams = load.streams as u64;
    figures.whole = ended.rsplit(' ').next().and_then(|whole| whole.parse().ok()).unwrap_or(0);
    figures.bytes_per_stream = grown.map(|bytes| bytes / load.streams as u64);
    if let (Some((machine, emitter, reader)), Some(then)) = (now, then) {
        let (emitter, reader) = (emitter - then.1, reader - then.2);
        figures.cpu = Some(emitter / seconds);
        figures.others = Some(machine.others_since(then.0, emitter + reader));
    }
    Ok(figures)
}

/// Starts a client and waits until its streams are open.
fn read(address: &str, load: &Load) -> io::Result<Process> {
    let mut arguments = vec!["client".to_string(), address.to_string()];
    arguments.extend(load.arguments());
    let mut client = Process::start(&arguments)?;
    match client.line()?.as_str() {
        "open" => Ok(client),
        other => Err(io::Error::other(format!("the client said {other:?}"))),
    }
}

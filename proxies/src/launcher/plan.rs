//! One try at starting an endpoint.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use nix::unistd::Pid;
use tempfile::TempDir;

use super::container::Container;
use super::ports::{self, Wanted};
use super::probe::Probe;
use super::ready::{self, NotReady};
use super::running::{Rendered, Running};
use super::{LOG_LINES, StartError, StartOptions};
use crate::registry::{Endpoint, Engine, Ready};
use crate::source::Program;
use crate::supervise::Command;
use crate::template::Values;

/// One try: ports chosen, files written, arguments rendered.
pub(super) struct Plan<'a> {
    endpoint: &'a Endpoint,
    engine: &'a Engine,
    program: &'a Program,
    pub(super) listen: SocketAddr,
    admin: SocketAddr,
    values: Values,
    files: Vec<Rendered>,
    /// Where the files are that the proxy reads and never writes.
    read_only: Vec<PathBuf>,
    scratch: TempDir,
}

pub(super) enum Outcome {
    Ready(Box<Running>),
    PortLost,
}

impl<'a> Plan<'a> {
    pub(super) fn new(
        endpoint: &'a Endpoint,
        engine: &'a Engine,
        program: &'a Program,
        upstream: SocketAddr,
        options: &StartOptions,
    ) -> Result<Self, StartError> {
        let admin = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let wanted = [
            Wanted { address: options.listen, udp: endpoint.http3 },
            Wanted { address: admin, udp: false },
        ];
        let [listen, admin] = ports::choose(wanted).map_err(|(address, error)| {
            StartError::Port { endpoint: endpoint.name.clone(), address, error }
        })?;
        let scratch_error = |path: PathBuf, error| StartError::Scratch {
            endpoint: endpoint.name.clone(),
            path,
            error,
        };
        let scratch = tempfile::Builder::new()
            .prefix(&format!("holdup-{}-", endpoint.name))
            .tempdir()
            .map_err(|error| scratch_error(std::env::temp_dir(), error))?;

        let mut values = Values::new();
        values.set_address(["listen", "listen_host", "listen_port"], listen);
        values.set_address(["admin", "admin_host", "admin_port"], admin);
        values.set_address(["upstream", "upstream_host", "upstream_port"], upstream);
        values.set_path("scratch", scratch.path());
        values.set_path("config", &scratch.path().join(endpoint.config.file_name()));
        if let Some(companion) = endpoint.companions.first() {
            values.set_path("companion", &scratch.path().join(companion.file_name()));
        }

        let mut read_only = Vec::new();
        if endpoint.tls {
            let name = || endpoint.name.clone();
            let leaf = options
                .leaf
                .as_ref()
                .ok_or_else(|| StartError::NoCertificate { endpoint: name() })?;
            let files = leaf
                .write_into(scratch.path())
                .map_err(|error| StartError::Certificate { endpoint: name(), error })?;
            values.set_path("certificate", &files.chain);
            values.set_path("certificate_key", &files.key);
            values.set_path("certificate_and_key", &files.both);
            read_only.extend([files.chain, files.key, files.both]);
        }

        let mut files = Vec::new();
        for file in std::iter::once(&endpoint.config).chain(&endpoint.companions) {
            let text = values
                .render(file.path, &file.template)
                .map_err(|error| StartError::Render { endpoint: endpoint.name.clone(), error })?;
            let path = scratch.path().join(file.file_name());
            fs::write(&path, &text).map_err(|error| scratch_error(path.clone(), error))?;
            read_only.push(path);
            files.push(Rendered { path: file.path, text });
        }
        Ok(Self { endpoint, engine, program, listen, admin, values, files, read_only, scratch })
    }

    pub(super) fn run(self, options: &StartOptions) -> Result<Outcome, StartError> {
        let render_error =
            |error| StartError::Render { endpoint: self.endpoint.name.clone(), error };
        let render = |text: &String| self.values.render("registry.toml", text);

        let mut command = Command::new(&options.supervisor, self.program.path.clone());
        command.cwd(self.scratch.path()).remove_after(self.scratch.path());
        let mut environment = Vec::new();
        for (name, value) in &self.engine.environment {
            environment.push((name.clone(), render(value).map_err(render_error)?));
        }
        let contained = self.program.contained.as_ref();
        let container = contained.map(|image| Container::new(image, self.scratch.path()));
        if let Some(container) = &container {
            // The environment is the program's, not that of the command which starts it.
            let environment = std::mem::take(&mut environment);
            command.args(container.run(self.scratch.path(), &self.read_only, &environment));
            command.finally(container.removal());
        }
        for arg in &self.engine.run {
            command.arg(render(arg).map_err(render_error)?);
        }
        for (name, value) in environment {
            command.env(name, value);
        }
        for (name, value) in &self.program.environment {
            command.env(name, value);
        }
        let ready =
            if self.endpoint.own.is_some() { &self.engine.own_ready } else { &self.engine.ready };
        let check = match ready {
            Ready::Connect {} => ready::Check::Connect(self.listen),
            Ready::Admin { path, contains } => ready::Check::Admin {
                address: self.admin,
                path: render(path).map_err(render_error)?,
                contains: contains.clone(),
            },
        };

        let supervise_error =
            |error| StartError::Supervise { endpoint: self.endpoint.name.clone(), error };
        let log = self.scratch.path().join("log");
        let mut process = command.spawn(&log).map_err(supervise_error)?;
        let ports = ready::Ports { listen: self.listen, udp: self.endpoint.http3 };
        let limit = options.ready_limit;
        let outcome = ready::wait(&check, ports, &mut process, container.as_ref(), limit);
        let endpoint = self.endpoint.name.clone();
        match outcome {
            Ok(()) => Ok(Outcome::Ready(Box::new(Running {
                probe: match &container {
                    None => Probe::below(
                        Pid::from_raw(process.supervisor_pid().cast_signed()),
                        self.scratch.path(),
                    ),
                    Some(container) => Probe::from(container.first(), self.scratch.path()),
                },
                endpoint: self.endpoint.clone(),
                program: self.program.clone(),
                files: self.files,
                listen: self.listen,
                process,
                scratch: self.scratch,
            }))),
            Err(NotReady::PortLost) => Ok(Outcome::PortLost),
            Err(NotReady::Ended(status)) => {
                let log = process.log_tail(LOG_LINES);
                Err(StartError::Ended { endpoint, status, log })
            }
            Err(NotReady::Late(waiting_for)) => Err(StartError::NotReady {
                endpoint,
                limit: options.ready_limit,
                waiting_for,
                log: process.log_tail(LOG_LINES),
            }),
            Err(NotReady::Watch(error)) => Err(supervise_error(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Sha256Hash;
    use crate::registry::Registry;
    use crate::source::Source;
    use crate::supervise::Supervisor;

    #[test]
    fn rendering_leaves_no_placeholder() {
        let registry = Registry::embedded().unwrap();
        let upstream: SocketAddr = "127.0.0.1:7".parse().unwrap();
        let leaf = certs::Authority::in_memory().unwrap().leaf().unwrap();
        let bare = StartOptions::with_supervisor(Supervisor::program("/none"));
        let options = StartOptions { leaf: Some(leaf.into()), ..bare.clone() };
        for endpoint in registry.endpoints() {
            let engine = registry.engine_of(endpoint);
            let program = Program {
                engine: engine.name.clone(),
                path: "/none".into(),
                environment: Default::default(),
                version: engine.version.clone(),
                source: Source::Own,
                sha256: "0".repeat(64).parse::<Sha256Hash>().unwrap(),
                contained: None,
            };
            let plan = Plan::new(endpoint, engine, &program, upstream, &options).unwrap();
            let without = Plan::new(endpoint, engine, &program, upstream, &bare).err();
            assert_eq!(
                matches!(without, Some(StartError::NoCertificate { .. })),
                endpoint.tls,
                "{}: {without:?}",
                endpoint.name
            );
            let mut whole = String::new();
            for file in &plan.files {
                assert!(!file.text.contains("{{") && !file.text.contains("}}"), "{}", file.path);
                whole.push_str(&file.text);
            }
            for text in engine.run.iter().chain(engine.environment.values()) {
                whole.push_str(&plan.values.render("registry.toml", text).unwrap());
            }
            for port in [plan.listen.port(), upstream.port()] {
                assert!(whole.contains(&port.to_string()), "{} names {port}", endpoint.name);
            }
        }
    }
}

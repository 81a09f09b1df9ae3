//! Programs from container images, each by an exact tag, run by the `docker` command.
//!
//! What is measured is named by the digest that the engine itself gives for the image, and
//! the container is made from the image's own id: a tag that moves meanwhile changes nothing.

mod docker;

use super::version;
use super::{Program, Progress, Source};
use crate::names::{EngineName, Sha256Hash, Version};
use crate::registry::{Engine, PinnedImage};

pub use docker::Docker;
use docker::{Said, Security};

/// An image that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// There is no docker.
    #[error(
        "cannot run {image}: no {docker} on PATH; install a container engine, or leave out --source docker"
    )]
    NoDocker {
        /// The image.
        image: String,
        /// What was called.
        docker: String,
    },
    /// There is docker, but no daemon behind it.
    #[error(
        "cannot run {image}: docker reaches no engine; start it, or leave out --source docker (docker says: {said})"
    )]
    NoEngine {
        /// The image.
        image: String,
        /// docker's last words.
        said: String,
    },
    /// It is not there and does not come.
    #[error(
        "cannot pull {image}: docker got none; try `docker pull {image}` (docker says: {said})"
    )]
    Pull {
        /// The image.
        image: String,
        /// docker's last words.
        said: String,
    },
    /// A call that failed otherwise, or did not end.
    #[error("cannot run {image}: docker failed to {to}: {said}")]
    Failed {
        /// The image.
        image: String,
        /// What was tried.
        to: &'static str,
        /// docker's last words.
        said: String,
    },
    /// Nothing by which it could be named in the results.
    #[error(
        "refused {image}: docker names no digest of it (`{said}`), as of an image that was built here; remove it, and it is pulled"
    )]
    NoDigest {
        /// The image.
        image: String,
        /// What docker says instead.
        said: String,
    },
    /// What was pulled is not what is there.
    #[error(
        "refused {image}: docker pulled {pulled} and shows {shown} for it; remove it and try again"
    )]
    OtherDigest {
        /// The image.
        image: String,
        /// The digest the pull ended with.
        pulled: Sha256Hash,
        /// The digest of what is there.
        shown: Sha256Hash,
    },
    /// The program in it does not say its version.
    #[error(
        "cannot measure {image}: its {command} does not say its version, but `{said}`; correct `image` in registry.toml"
    )]
    Unsaid {
        /// The image.
        image: String,
        /// The program.
        command: String,
        /// What it says.
        said: String,
    },
    /// The program in it is another version than the tag says.
    #[error("refused {image}: its program says it is {said}; correct `image` in registry.toml")]
    OtherVersion {
        /// The image.
        image: String,
        /// The version it says.
        said: Version,
    },
}

/// How a program of an image is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contained {
    /// The docker command.
    pub docker: Docker,
    /// The image's own id: what a container is made of.
    pub id: String,
    /// The program in it.
    pub command: String,
    /// Options that keep a container from acting as somebody else than who starts it.
    pub(crate) security: Vec<String>,
}

/// The program of an engine's image, pulled if it is not there.
pub(super) fn resolve(
    engine: &Engine,
    image: &PinnedImage,
    docker: &Docker,
    progress: &mut dyn FnMut(Progress),
) -> Result<Program, ImageError> {
    let look = Look { docker, image };
    let security = look.security()?;
    let (id, sha256) = match look.there()? {
        Some(found) => found,
        None => {
            let requirement = image.reference.clone();
            progress(Progress::Fetching { engine: engine.name.clone(), requirement });
            look.pull(&engine.name, progress)?
        }
    };
    let contained = Contained {
        docker: docker.clone(),
        id,
        command: engine.command.clone(),
        security: security.options(),
    };
    let version = look.version(engine, &contained)?;
    Ok(Program {
        engine: engine.name.clone(),
        path: docker.path().into(),
        environment: Default::default(),
        version,
        source: Source::Docker { image: image.reference.clone() },
        sha256,
        contained: Some(contained),
    })
}

struct Look<'a> {
    docker: &'a Docker,
    image: &'a PinnedImage,
}

impl Look<'_> {
    fn name(&self) -> String {
        self.image.reference.clone()
    }

    fn call(&self, to: &'static str, args: &[&str]) -> Result<Said, ImageError> {
        self.docker.call(args).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                ImageError::NoDocker { image: self.name(), docker: self.docker.to_string() }
            }
            _ => ImageError::Failed { image: self.name(), to, said: error.to_string() },
        })
    }

    /// Whether an engine answers, and how its users stand to those of this machine.
    fn security(&self) -> Result<Security, ImageError> {
        let said = self.call("find its engine", &docker::INFO)?;
        // Older commands end well without an engine, and leave its version empty.
        match said.success.then(|| Security::parse(&said.out)).flatten() {
            Some(security) => Ok(security),
            None => Err(ImageError::NoEngine { image: self.name(), said: said.words() }),
        }
    }

    /// The image's id and digest; none if it is not there.
    fn there(&self) -> Result<Option<(String, Sha256Hash)>, ImageError> {
        let args = ["image", "inspect", "--format", docker::IDENTITY, &self.image.reference];
        let said = self.call("look at it", &args)?;
        if !said.success {
            let words = said.words();
            let absent = ["no such image", "image not known"]
                .iter()
                .any(|said_so| words.to_ascii_lowercase().contains(said_so));
            return match absent {
                true => Ok(None),
                false => {
                    let (image, to) = (self.name(), "look at it");
                    Err(ImageError::Failed { image, to, said: words })
                }
            };
        }
        docker::identity(&said.out, self.image.repository())
            .map(Some)
            .ok_or_else(|| ImageError::NoDigest { image: self.name(), said: said.words() })
    }

    fn pull(
        &self,
        engine: &EngineName,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(String, Sha256Hash), ImageError> {
        let mut pulled = None;
        let line = &mut |line: &str| {
            pulled = pulled.or(line.strip_prefix("Digest: ").and_then(docker::digest));
            progress(Progress::Pulling { engine: engine.clone(), said: line.to_owned() });
        };
        let refused = |said: String| ImageError::Pull { image: self.name(), said };
        let said = self
            .docker
            .watch(&["pull", &self.image.reference], line)
            .map_err(|error| refused(error.to_string()))?;
        if !said.success {
            return Err(refused(said.words()));
        }
        let (id, shown) = self.there()?.ok_or_else(|| refused(said.words()))?;
        match pulled {
            Some(pulled) if pulled != shown => {
                Err(ImageError::OtherDigest { image: self.name(), pulled, shown })
            }
            _ => Ok((id, shown)),
        }
    }

    /// The version that the program in the image says; it must be the tag's.
    fn version(&self, engine: &Engine, contained: &Contained) -> Result<Version, ImageError> {
        let name = docker::container_name("version");
        let entry = ["--network", "none", "--entrypoint", &contained.command, &contained.id];
        let mut args = vec!["run", "--rm", "--name", &name, "--pull", "never"];
        args.extend(contained.security.iter().map(String::as_str));
        args.extend(entry);
        args.extend(engine.version_command.args.iter().map(String::as_str));
        let said = self.call("ask its version", &args);
        if !said.as_ref().is_ok_and(|said| said.success) {
            // One that hangs is not left behind.
            let _ = self.docker.call(&["rm", "-f", &name]);
        }
        let said = said?;
        if !said.success {
            let (image, to) = (self.name(), "ask its version");
            return Err(ImageError::Failed { image, to, said: said.words() });
        }
        let both = format!("{}\n{}", said.out, said.err);
        match version::find(&both, &engine.version_command.after) {
            Some(version) if self.image.version.is_said_by(&version) => Ok(version),
            Some(said) => Err(ImageError::OtherVersion { image: self.name(), said }),
            None => Err(ImageError::Unsaid {
                image: self.name(),
                command: engine.command.clone(),
                said: said.words(),
            }),
        }
    }
}

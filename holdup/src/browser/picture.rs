//! Pictures of the page at window sizes and in colour schemes.

use std::time::Duration;

use serde_json::{Value, json};

use crate::browser::driver::Driver;
use crate::browser::engine::Engine;
use crate::browser::error::DriverError;

/// What a page needs to lay out and paint in a new size: a frame, on a busy machine.
const SETTLE: Duration = Duration::from_millis(300);

/// A PNG of the page, as large as the page was: a browser's window may not go as small as asked.
pub(crate) struct Picture {
    pub(crate) png: Vec<u8>,
    pub(crate) width: u64,
    pub(crate) height: u64,
}

impl Driver {
    /// A picture at a size of the page, in CSS pixels, in `light` or `dark`.
    pub(crate) async fn picture(
        &self,
        width: u32,
        height: u32,
        scheme: &str,
    ) -> Result<Picture, DriverError> {
        match self.engine {
            Engine::Chromium => self.emulate(width, height, scheme).await?,
            Engine::Firefox | Engine::Webkit => {
                self.resize(width, height).await?;
                // The page's colours all hang from this one property.
                let script = "document.documentElement.style.colorScheme = arguments[0]";
                self.limited(self.client.execute(script, vec![scheme.into()])).await?;
            }
        }
        tokio::time::sleep(SETTLE).await;
        let (width, height) = self.size().await?;
        let png = self.limited(self.client.screenshot()).await?;
        Ok(Picture { png, width, height })
    }

    /// Chromium gives its page any size and scheme without a word to the window.
    async fn emulate(&self, width: u32, height: u32, scheme: &str) -> Result<(), DriverError> {
        let size = json!({ "width": width, "height": height,
            "deviceScaleFactor": 1, "mobile": false });
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        for (method, parameters) in
            [("Emulation.setDeviceMetricsOverride", size), ("Emulation.setEmulatedMedia", media)]
        {
            let body = json!({ "cmd": method, "params": parameters });
            self.issue("goog/cdp/execute", body).await?;
        }
        Ok(())
    }

    /// The others' pages are as large as the window less its bars.
    async fn resize(&self, width: u32, height: u32) -> Result<(), DriverError> {
        if self.engine == Engine::Firefox {
            self.narrow().await?;
        }
        self.limited(self.client.set_window_rect(0, 0, width, height)).await?;
        tokio::time::sleep(SETTLE).await;
        let bars = u64::from(height).saturating_sub(self.size().await?.1) as u32;
        self.limited(self.client.set_window_rect(0, 0, width, height + bars)).await
    }

    /// Firefox's window goes no narrower than its bar, 500 pixels, unless its own document is
    /// told otherwise. A driver that was not started for it refuses: then the picture is wider.
    async fn narrow(&self) -> Result<(), DriverError> {
        let script = "document.documentElement.style.setProperty('min-width', '0', 'important')";
        if self.issue("moz/context", json!({ "context": "chrome" })).await.is_ok() {
            let told = self.limited(self.client.execute(script, Vec::new())).await;
            self.issue("moz/context", json!({ "context": "content" })).await?;
            told?;
        }
        Ok(())
    }

    /// The page's size, CSS pixels.
    async fn size(&self) -> Result<(u64, u64), DriverError> {
        let script = "return [innerWidth, innerHeight]";
        let size = self.limited(self.client.execute(script, Vec::new())).await?;
        let side = |index: usize| size[index].as_u64().unwrap_or_default();
        Ok((side(0), side(1)))
    }

    /// A command of one engine's own.
    async fn issue(&self, path: &'static str, body: Value) -> Result<(), DriverError> {
        self.limited(self.client.issue_cmd(Own { path, body })).await.map(|_| ())
    }
}

/// A command that only one engine's driver has.
#[derive(Debug)]
struct Own {
    path: &'static str,
    body: Value,
}

impl fantoccini::wd::WebDriverCompatibleCommand for Own {
    fn endpoint(
        &self,
        base: &url::Url,
        session: Option<&str>,
    ) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(self.body.to_string()))
    }
}

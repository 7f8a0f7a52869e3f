// SPDX-License-Identifier: MIT OR Apache-2.0
//! A headless Chromium, spoken to in the Chrome DevTools Protocol over two pipes: no port, no
//! driver, no library.

use anyhow::{bail, ensure, Context, Result};
use serde_json::{json, Value};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// No answer takes longer, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    /// Messages that were no answers.
    events: Vec<Value>,
    next_id: u64,
    session: Option<String>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts a browser and opens an empty page of this size.
    pub fn start(width: u32, height: u32) -> Result<Self> {
        let profile = tempfile::tempdir()?;
        let mut data_dir = std::ffi::OsString::from("--user-data-dir=");
        data_dir.push(profile.path());
        // The browser listens on descriptor 3 and answers on 4. It is given one file of ours, so
        // it needs no sandbox, which would not work as root or in a container.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1"])
            .arg(program()?)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--hide-scrollbars", "--no-first-run", "--remote-debugging-pipe"])
            .arg(data_dir)
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("starting a browser")?;
        let input = child.stdin.take().context("no pipe to the browser")?;
        let messages = listen(child.stdout.take().context("no pipe from the browser")?);
        let mut browser = Browser {
            child,
            input,
            messages,
            events: Vec::new(),
            next_id: 0,
            session: None,
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}))?;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", attach)?;
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}))?;
        }
        browser.resize(width, height)?;
        Ok(browser)
    }

    /// Gives the page another size, in CSS pixels.
    pub fn resize(&mut self, width: u32, height: u32) -> Result<()> {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size).map(drop)
    }

    /// Which colour scheme the page is asked for: `light` or `dark`.
    pub fn prefer(&mut self, scheme: &str) -> Result<()> {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features})).map(drop)
    }

    /// Opens a file, and waits until it is loaded.
    pub fn open(&mut self, file: &Path) -> Result<()> {
        let url = format!("file://{}", file.display());
        let answer = self.call("Page.navigate", json!({"url": url}))?;
        ensure!(answer["errorText"].is_null(), "{url}: {}", answer["errorText"]);
        let loaded =
            "new Promise((done) => document.readyState === 'complete' ? done(location.href) \
                      : addEventListener('load', () => done(location.href)))";
        // A new page may come between question and answer.
        let until = Instant::now() + PATIENCE;
        while self.evaluate(loaded).ok().as_ref().and_then(Value::as_str) != Some(url.as_str()) {
            ensure!(Instant::now() < until, "{url} did not load");
            thread::sleep(Duration::from_millis(20));
        }
        self.settle()
    }

    /// Waits until the page has drawn twice.
    pub fn settle(&mut self) -> Result<()> {
        let frames = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))";
        self.evaluate(frames).map(drop)
    }

    /// The value of an expression in the page; a promise is waited for.
    pub fn evaluate(&mut self, expression: &str) -> Result<Value> {
        let question =
            json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let mut answer = self.call("Runtime.evaluate", question)?;
        if !answer["exceptionDetails"].is_null() {
            bail!("{expression}: {}", answer["exceptionDetails"]);
        }
        Ok(answer["result"]["value"].take())
    }

    /// The value of an expression that is a string.
    pub fn text(&mut self, expression: &str) -> Result<String> {
        let value = self.evaluate(expression)?;
        value.as_str().map(str::to_owned).with_context(|| format!("{expression} is {value}"))
    }

    /// The value of an expression that is a number.
    pub fn number(&mut self, expression: &str) -> Result<f64> {
        let value = self.evaluate(expression)?;
        value.as_f64().with_context(|| format!("{expression} is {value}"))
    }

    /// A mouse event at a place in the window; `more` has what else belongs to it.
    pub fn mouse(&mut self, kind: &str, (x, y): (f64, f64), more: Value) -> Result<()> {
        let mut event = json!({"type": kind, "x": x, "y": y});
        for (key, value) in more.as_object().into_iter().flatten() {
            event[key] = value.clone();
        }
        self.call("Input.dispatchMouseEvent", event)?;
        self.settle()
    }

    /// Presses a key and lets it go.
    pub fn key(&mut self, key: &str) -> Result<()> {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({"type": kind, "key": key}))?;
        }
        self.settle()
    }

    /// The page on paper, as a PDF file in base64.
    pub fn print(&mut self) -> Result<String> {
        let answer = self.call("Page.printToPDF", json!({"printBackground": true}))?;
        answer["data"].as_str().map(str::to_owned).context("no PDF")
    }

    /// What the page complained of so far: exceptions, console messages, violated policies.
    pub fn complaints(&self) -> Vec<String> {
        let methods = ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"];
        let is_one = |event: &&Value| methods.iter().any(|method| event["method"] == *method);
        self.events.iter().filter(is_one).map(|event| event["params"].to_string()).collect()
    }

    /// Addresses that the page asked for so far.
    pub fn requests(&self) -> Vec<String> {
        let is_one = |event: &&Value| event["method"] == "Network.requestWillBeSent";
        let url = |event: &Value| event["params"]["request"]["url"].as_str().map(str::to_owned);
        self.events.iter().filter(is_one).filter_map(url).collect()
    }

    fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        self.next_id += 1;
        let mut message = json!({"id": self.next_id, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.input.write_all(format!("{message}\0").as_bytes()).context("the browser is gone")?;
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let mut message = self
                .messages
                .recv_timeout(left)
                .with_context(|| format!("the browser did not answer {method}"))?;
            if message["id"] != self.next_id {
                self.events.push(message);
                continue;
            }
            ensure!(message["error"].is_null(), "{method}: {}", message["error"]);
            return Ok(message["result"].take());
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.session = None;
        let closed = self.call("Browser.close", json!({}));
        if closed.is_err() {
            // Gone already, or it hangs.
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// Messages of the browser, each ended by a zero byte.
fn listen(output: ChildStdout) -> Receiver<Value> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for message in BufReader::new(output).split(0).map_while(Result::ok) {
            let Ok(message) = serde_json::from_slice(&message) else { continue };
            if sender.send(message).is_err() {
                break;
            }
        }
    });
    receiver
}

/// `$CHROMIUM`, or the first of the usual names in the path.
fn program() -> Result<PathBuf> {
    if let Some(program) = std::env::var_os("CHROMIUM") {
        return Ok(program.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|program| program.is_file())
        .with_context(|| {
            format!("none of {} is installed; scripts/setup tests does that", names.join(", "))
        })
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! A decoder behind a UNIX socket, as inetd would start it: ffmpeg, whose input and output are the
//! connection. It decodes pictures of a camera and makes them as small as the paper's [CAS §7.4].

use super::background::accept;
use super::frames::{self, Viewed};
use super::numbers::Reading;
use super::player::PERIOD_NS;
use super::programs::FFMPEG;
use super::session::{Session, Stage};
use super::{clip, User};
use crate::error::Error;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// 352 times 288 pixels of 12 bits.
pub(super) const FRAME_BYTES: usize = 352 * 288 * 3 / 2;
const SCALE: &str = "scale=352:288:flags=bicubic";

const SET_UP: Duration = Duration::from_secs(60);

/// A clip, and who decodes it.
pub(crate) struct Video {
    clip: PathBuf,
    ffmpeg: String,
    own: User,
    customer: User,
}

impl Video {
    pub(crate) fn start(stage: &Stage<'_>, own: User, customer: User) -> Result<Self, Error> {
        let ffmpeg = FFMPEG.find()?.display().to_string();
        Ok(Self { clip: clip::draw(stage, own)?, ffmpeg, own, customer })
    }

    /// A decoder that waits for its customer: one for each run.
    pub(crate) fn decoder(&self, stage: &Stage<'_>) -> Result<Decoder, Error> {
        let socket = stage.directory_of("decoder", self.own)?.join("socket");
        let words = ["decode", &socket.display().to_string(), &self.ffmpeg];
        let mut session = stage.child("decoder", self.own, &words)?;
        session.ready(stage, SET_UP, || socket.exists())?;
        Ok(Decoder { session, socket })
    }

    pub(crate) fn run(
        &self,
        stage: &Stage<'_>,
        decoder: &Decoder,
        time: Duration,
    ) -> Result<Vec<Reading>, Error> {
        let (socket, clip) =
            (decoder.socket.display().to_string(), self.clip.display().to_string());
        let nanoseconds = time.as_nanos().to_string();
        let player =
            stage.child("player", self.customer, &["player", &socket, &clip, &nanoseconds])?;
        let frames = player.finish(stage, time + Duration::from_secs(120)).map_err(|e| {
            let said = decoder.session.text("err");
            Error::Failure(format!("{e}\n{said}").trim_end().to_owned())
        })?;
        let viewed = Viewed::of(&frames::parse(&frames)?, PERIOD_NS)?;
        let reading = |key, unit, value| Reading { key, unit, value };
        Ok(vec![
            reading("frame_rate", "per_second", viewed.rate),
            reading("dropped", "number", viewed.dropped as f64),
            reading("late", "number", viewed.late as f64),
            reading("delay_mean", "ms", viewed.mean_delay_ms),
        ])
    }
}

/// A decoder that waits.
pub(crate) struct Decoder {
    pub(crate) session: Session,
    socket: PathBuf,
}

/// Becomes the decoder of the first who connects.
pub(super) fn child(words: &[String]) -> Result<(), Error> {
    let [socket, ffmpeg] = words else {
        return Err(Error::Input("expected a socket and ffmpeg".into()));
    };
    let stream = accept(Path::new(socket))?;
    let output = stream.try_clone().map_err(|e| Error::system("share a socket", e))?;
    let error = Command::new(ffmpeg)
        .args(["-hide_banner", "-loglevel", "error"])
        .args(["-probesize", "32", "-analyzeduration", "0", "-threads", "1"])
        .args(["-f", "mpjpeg", "-i", "pipe:0", "-filter_threads", "1", "-vf", SCALE])
        .args(["-fps_mode", "passthrough", "-c:v", "rawvideo", "-pix_fmt", "yuv420p"])
        .args(["-threads", "1", "-f", "rawvideo", "-flush_packets", "1", "pipe:1"])
        .stdin(OwnedFd::from(stream))
        .stdout(OwnedFd::from(output))
        .exec();
    Err(Error::system("start ffmpeg", error))
}

/// A picture as a part of a stream, as cameras send it over HTTP: the decoder knows where it ends
/// before the next one comes.
pub(super) fn part(picture: &[u8]) -> Vec<u8> {
    let length = picture.len();
    let head = format!("--part\r\nContent-Type: image/jpeg\r\nContent-Length: {length}\r\n\r\n");
    [head.as_bytes(), picture, b"\r\n"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_says_how_long_it_is() {
        let expected = "--part\r\nContent-Type: image/jpeg\r\nContent-Length: 3\r\n\r\nabc\r\n";
        assert_eq!(part(b"abc"), expected.as_bytes());
    }
}

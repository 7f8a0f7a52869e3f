// SPDX-License-Identifier: MIT OR Apache-2.0
//! A clip of JPEG pictures: each can be decoded, or dropped, without the others.

use super::programs::FFMPEG;
use super::session::Stage;
use super::User;
use crate::error::Error;
use std::path::PathBuf;
use std::time::Duration;

/// Four seconds, again and again.
const PICTURES: &str = "100";
const SET_UP: Duration = Duration::from_secs(120);

/// Draws the clip.
pub(super) fn draw(stage: &Stage<'_>, own: User) -> Result<PathBuf, Error> {
    let clip = stage.directory_of("clip", own)?.join("clip.mjpeg");
    let (program, path) = (FFMPEG.find()?.display().to_string(), clip.display().to_string());
    let words = [
        program.as_str(),
        "-loglevel",
        "error",
        "-f",
        "lavfi",
        "-i",
        "testsrc2=size=2560x1440:rate=25",
        "-frames:v",
        PICTURES,
        "-c:v",
        "mjpeg",
        "-q:v",
        "4",
        "-f",
        "mjpeg",
        &path,
    ];
    stage.start("clip", own, &words)?.finish(stage, SET_UP)?;
    Ok(clip)
}

/// The pictures of a clip: from each start of image to the end of image after it. In a JPEG's data
/// 0xff is always followed by 0.
pub(super) fn split(clip: &[u8]) -> Vec<&[u8]> {
    let mut pictures = Vec::new();
    let mut rest = clip;
    let find = |bytes: &[u8], marker: [u8; 2]| bytes.windows(2).position(|at| at == marker);
    while let Some(start) = find(rest, [0xff, 0xd8]) {
        rest = &rest[start..];
        let Some(end) = find(rest, [0xff, 0xd9]) else { break };
        pictures.push(&rest[..end + 2]);
        rest = &rest[end + 2..];
    }
    pictures
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pictures_are_from_start_to_end() {
        let clip = [0, 0xff, 0xd8, 1, 0xff, 0, 0xff, 0xd9, 7, 0xff, 0xd8, 0xff, 0xd9, 0xff, 0xd8];
        assert_eq!(split(&clip), [&clip[1..8], &clip[9..13]]);
        assert_eq!(split(&[]), [] as [&[u8]; 0]);
    }

    proptest! {
        #[test]
        fn each_picture_begins_and_ends_as_it_should(
            clip in prop::collection::vec(prop::sample::select(vec![0u8, 0xff, 0xd8, 0xd9]), 0..60)
        ) {
            for picture in split(&clip) {
                prop_assert!(picture.starts_with(&[0xff, 0xd8]));
                prop_assert!(picture.ends_with(&[0xff, 0xd9]));
            }
        }
    }
}

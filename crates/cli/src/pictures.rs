//! An experiment's charts as files: written by `report --format svg` and `png`, linked by `--format md` where they stand beside it.

use pipefill_report::md::Link;
use pipefill_report::pictures::PictureFile;
use pipefill_runs::Failure;
use pipefill_store::files;
use std::fs;
use std::path::{Path, PathBuf};

/// Where pictures go if the user names no directory, and where a text in Markdown looks for them beside its own.
const FOLDER: &str = "pictures";
/// Pixels of a PNG: for a page of a paper, or half a screen.
#[cfg(feature = "png")]
const PNG_WIDTH: u32 = 1600;

/// How a picture is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PictureKind {
    /// As lines and text: sharp at every width.
    Svg,
    /// As pixels.
    Png,
}

impl PictureKind {
    const fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
        }
    }
}

/// Where the pictures of the records in `directory` go.
///
/// # Errors
/// [`Failure`] where a link stands there.
pub(crate) fn folder(directory: &Path) -> Result<PathBuf, Failure> {
    let folder = directory.join(FOLDER);
    files::is_directory(&folder).map_err(Failure::file("writing", &folder))?;
    Ok(folder)
}

/// Writes `files` into `folder`, which is made where it is not there; the paths.
///
/// # Errors
/// [`Failure`] where one can't be drawn or written.
pub(crate) fn write(
    folder: &Path,
    files: &[PictureFile],
    kind: PictureKind,
) -> Result<Vec<PathBuf>, Failure> {
    let painter = (kind == PictureKind::Png).then(Painter::new).transpose()?;
    fs::create_dir_all(folder).map_err(Failure::file("making", folder))?;
    let write = |file: &PictureFile| {
        let path = folder.join(&file.name).with_extension(kind.extension());
        let bytes = match &painter {
            None => file.svg.clone().into_bytes(),
            Some(painter) => painter.png(&file.svg, &path)?,
        };
        files::replace(&path, &bytes)?;
        Ok(path)
    };
    files.iter().map(write).collect()
}

/// Draws pictures as pixels.
#[cfg(feature = "png")]
struct Painter(pipefill_report::png::Painter);

#[cfg(feature = "png")]
impl Painter {
    #[expect(clippy::unnecessary_wraps, reason = "a build without PNG has none")]
    fn new() -> Result<Self, Failure> {
        Ok(Self(pipefill_report::png::Painter::new()))
    }

    /// The picture `svg`, for the file at `path`.
    fn png(&self, svg: &str, path: &Path) -> Result<Vec<u8>, Failure> {
        let drawn = self.0.png(svg, PNG_WIDTH);
        drawn.map_err(|error| Failure::broken(format!("{}: {error}", path.display())))
    }
}

/// Where the program was built without PNG there is none.
#[cfg(not(feature = "png"))]
enum Painter {}

#[cfg(not(feature = "png"))]
impl Painter {
    fn new() -> Result<Self, Failure> {
        let remedy =
            "write SVG with --format svg, or build it with its default features: cargo build --release";
        Err(Failure::usage("this program was built without PNG", remedy))
    }

    const fn png(&self, _: &str, _: &Path) -> Result<Vec<u8>, Failure> {
        match *self {}
    }
}

/// Links to those of `files` that stand beside the text `report`, in its own folder or in `pictures`; SVG before PNG.
pub(crate) fn beside(report: &Path, files: &[PictureFile]) -> Vec<Link> {
    let around = report.parent().unwrap_or_else(|| Path::new(""));
    let link = |file: &PictureFile| {
        let names =
            [PictureKind::Svg, PictureKind::Png].map(|kind| format!("{}.{}", file.name, kind.extension()));
        let places = names.iter().flat_map(|name| [name.clone(), format!("{FOLDER}/{name}")]);
        let path = places.into_iter().find(|place| around.join(place).is_file())?;
        Some(Link { title: file.title.clone(), path })
    };
    files.iter().filter_map(link).collect()
}

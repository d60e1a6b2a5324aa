//! A picture as PNG: the SVG drawn by resvg, with a font that this program carries, so that a machine without fonts writes the same.
//!
//! Letters that DejaVu Sans does not have come from the machine's own fonts, where it has some.

use crate::carried;
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};
use std::sync::Arc;

/// The family that is carried; `picture.css` names it too.
const FAMILY: &str = "DejaVu Sans";

/// Why there is no PNG.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The document is none that resvg understands.
    #[error("the picture can't be drawn: {0}")]
    Svg(#[from] resvg::usvg::Error),
    /// No such picture can be held.
    #[error("a picture of {width} × {height} pixels is too large")]
    Size {
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
    },
    /// It can't be packed.
    #[error("the picture can't be packed: {0}")]
    Png(String),
}

/// Draws documents; finding the fonts takes a moment, so one is made for all.
#[derive(Debug)]
pub struct Painter {
    fonts: Arc<Database>,
}

impl Painter {
    /// With the carried font, and the machine's for what that does not have.
    pub fn new() -> Self {
        let mut fonts = carried();
        fonts.load_system_fonts();
        Self { fonts: Arc::new(fonts) }
    }

    /// With the carried font alone.
    pub fn carried() -> Self {
        Self { fonts: Arc::new(carried()) }
    }

    /// The document `svg` as PNG of `width` pixels.
    ///
    /// # Errors
    /// [`Error`].
    pub fn png(&self, svg: &str, width: u32) -> Result<Vec<u8>, Error> {
        let options =
            Options { fontdb: Arc::clone(&self.fonts), font_family: FAMILY.to_owned(), ..Options::default() };
        let tree = Tree::from_str(svg, &options)?;
        let scale = width as f32 / tree.size().width();
        let height = (tree.size().height() * scale).ceil() as u32;
        let mut pixels = Pixmap::new(width, height).ok_or(Error::Size { width, height })?;
        pixels.fill(Color::WHITE);
        resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| Error::Png(error.to_string()))
    }
}

impl Default for Painter {
    fn default() -> Self {
        Self::new()
    }
}

fn carried() -> Database {
    let mut fonts = Database::new();
    carried::fonts().into_iter().for_each(|font| fonts.load_font_data(font));
    fonts.set_sans_serif_family(FAMILY);
    fonts
}

//! The comments among a block's options (draft-ietf-opsawg-pcapng, 3.5).

use super::order::Order;

/// `opt_endofopt` and `opt_comment`.
pub(super) const END: u16 = 0;
pub(super) const COMMENT: u16 = 1;

/// Comments, in the order of the capture. What is damaged ends them.
#[derive(Debug, Clone)]
pub struct Comments<'a> {
    options: &'a [u8],
    order: Order,
}

impl<'a> Comments<'a> {
    pub(super) const fn new(options: &'a [u8], is_big_endian: bool) -> Self {
        Self { options, order: Order { is_big_endian } }
    }
}

impl<'a> Iterator for Comments<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            let (head, rest) = self.options.split_first_chunk::<4>()?;
            let code = self.order.u16([head[0], head[1]]);
            let length = usize::from(self.order.u16([head[2], head[3]]));
            let value = rest.get(..length)?;
            self.options = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            match code {
                END => return None,
                COMMENT => {
                    if let Ok(text) = std::str::from_utf8(value) {
                        return Some(text);
                    }
                }
                _ => {}
            }
        }
    }
}

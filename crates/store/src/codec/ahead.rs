//! The rows of a long table, decoded on a thread of their own while others look at those before.

use super::{RecordError, TableReader};
use pipefill_rows::Line;
use std::io::Read;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{JoinHandle, spawn};
use std::vec;

/// A thread has a heap and a decoder of its own, 3 MB: a table with fewer rows is read in a tenth of a second without.
const LONG: u64 = 100_000;
/// Rows that are handed over at once, and how many such lots wait at most.
const LOT: usize = 128;
const LOTS: usize = 2;

/// The rows of a table; those of a long one are decoded ahead, from the first that is asked for on.
pub(crate) struct TableRows<R: Line, D: Read> {
    source: Source<R, D>,
    is_long: bool,
}

enum Source<R: Line, D: Read> {
    /// Decoded as they are asked for.
    Table(TableReader<R, D>),
    /// Decoded ahead.
    Thread(Ahead<R>),
    /// There is nothing more.
    Over,
}

/// What a thread has decoded.
struct Ahead<R> {
    thread: JoinHandle<()>,
    lots: Receiver<Lot<R>>,
    /// What was handed over last.
    lot: vec::IntoIter<Result<R, RecordError>>,
}

type Lot<R> = Vec<Result<R, RecordError>>;

impl<R: Line, D: Read> TableRows<R, D> {
    /// The rows of `table`, of which there should be `listed`, where that is known.
    pub(crate) fn of(table: TableReader<R, D>, listed: Option<u64>) -> Self {
        Self { source: Source::Table(table), is_long: listed.is_some_and(|rows| rows >= LONG) }
    }
}

impl<R: Line> Ahead<R> {
    fn of(mut table: TableReader<R, impl Read + Send + 'static>) -> Self {
        let (sender, lots) = sync_channel(LOTS);
        let decode = move || loop {
            let lot: Lot<R> = table.by_ref().take(LOT).collect();
            // Nobody asks for more once the receiver is gone.
            if lot.is_empty() || sender.send(lot).is_err() {
                return;
            }
        };
        Self { thread: spawn(decode), lots, lot: Vec::new().into_iter() }
    }

    fn next(&mut self) -> Option<Result<R, RecordError>> {
        self.lot.next().or_else(|| {
            self.lot = self.lots.recv().ok()?.into_iter();
            self.lot.next()
        })
    }
}

impl<R: Line, D: Read + Send + 'static> Iterator for TableRows<R, D> {
    type Item = Result<R, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match &mut self.source {
                Source::Table(table) if !self.is_long => return table.next(),
                Source::Thread(ahead) => {
                    let row = ahead.next();
                    if row.is_some() {
                        return row;
                    }
                }
                Source::Table(_) => {}
                Source::Over => return None,
            }
            self.source = match std::mem::replace(&mut self.source, Source::Over) {
                Source::Table(table) => Source::Thread(Ahead::of(table)),
                Source::Thread(ahead) => {
                    // A thread that panicked has not read all.
                    ahead.thread.join().unwrap_or_else(|panic| resume_unwind(panic));
                    Source::Over
                }
                Source::Over => Source::Over,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::encode_table;
    use pipefill_core::record::DeliverySample;
    use std::io::Cursor;

    fn table(rows: u64) -> (Vec<DeliverySample>, Vec<u8>) {
        let rows: Vec<DeliverySample> = (0..rows)
            .map(|t_us| DeliverySample { t_us, stream: 0, sent_bytes: t_us, received_bytes: 0 })
            .collect();
        let mut text = Vec::new();
        encode_table(&rows, &mut text).unwrap();
        (rows, text)
    }

    fn read(text: Vec<u8>, listed: u64) -> TableRows<DeliverySample, Cursor<Vec<u8>>> {
        TableRows::of(TableReader::new(Cursor::new(text)).unwrap().listed(listed), Some(listed))
    }

    #[test]
    fn a_long_table_has_the_same_rows_in_the_same_order() {
        for count in [0, 3, LONG, LONG + 1, 3 * LONG + 7] {
            let (rows, text) = table(count);
            let mut all = read(text, count);
            let found: Vec<DeliverySample> = all.by_ref().map(Result::unwrap).collect();
            assert!(found == rows, "{count} rows");
            assert!(all.next().is_none(), "nothing follows the end");
        }
    }

    #[test]
    fn what_is_wrong_with_a_long_table_is_its_last_row() {
        let (_, text) = table(LONG);
        let mut all = read(text, LONG + 1);
        let error = all.by_ref().find_map(Result::err);
        assert!(matches!(error, Some(RecordError::RowCount { found: LONG, .. })), "{error:?}");
        assert!(all.next().is_none());
    }

    #[test]
    fn a_table_that_is_not_read_to_its_end_ends_its_thread() {
        let (_, text) = table(3 * LONG);
        let mut all = read(text, 3 * LONG);
        assert!(all.next().is_some());
        let Source::Thread(Ahead { thread, lots, lot }) = all.source else { panic!("no thread decodes it") };
        drop((lots, lot));
        thread.join().unwrap();
    }
}

//! The samples of a run in order of time, whatever table they are in, one at a time: what is read does not grow with the run.
//!
//! Never: a row out of its order; a table whose time goes back is damaged, and that is said.

use super::RecordError;
use pipefill_core::record::{AnyRow, Row};

/// What is left of one table.
type Rest<'a> = Box<dyn Iterator<Item = Result<AnyRow, RecordError>> + 'a>;

/// Every row of several tables, merged by time. Of rows of one time those of the table that was added first come first.
#[derive(Default)]
pub(crate) struct Rows<'a> {
    tables: Vec<(AnyRow, Rest<'a>)>,
}

impl<'a> Rows<'a> {
    /// Adds a table, whose rows have to be in order of time.
    ///
    /// # Errors
    /// That of its first row.
    pub(crate) fn add<R: Row + 'a>(
        &mut self,
        rows: impl Iterator<Item = Result<R, RecordError>> + 'a,
    ) -> Result<(), RecordError> {
        let mut rest: Rest<'a> = Box::new(ordered(rows));
        if let Some(first) = rest.next() {
            self.tables.push((first?, rest));
        }
        Ok(())
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<AnyRow, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (at, _) = self.tables.iter().enumerate().min_by_key(|(_, (row, _))| row.t_us())?;
        match self.tables[at].1.next() {
            Some(Ok(next)) => Some(Ok(std::mem::replace(&mut self.tables[at].0, next))),
            Some(Err(error)) => {
                self.tables.clear();
                Some(Err(error))
            }
            None => Some(Ok(self.tables.remove(at).0)),
        }
    }
}

/// The rows, or where their time goes back.
fn ordered<R: Row>(
    rows: impl Iterator<Item = Result<R, RecordError>>,
) -> impl Iterator<Item = Result<AnyRow, RecordError>> {
    let mut last_us = 0;
    rows.map(move |row| {
        let row = row?;
        let (before_us, t_us) = (std::mem::replace(&mut last_us, row.t_us()), row.t_us());
        if t_us < before_us {
            return Err(RecordError::Order { table: R::TABLE, before_us, t_us });
        }
        Ok(row.into_any())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::record::{CpuSample, DeliverySample, ThreadRole};

    fn delivery(t_us: u64) -> Result<DeliverySample, RecordError> {
        Ok(DeliverySample { t_us, stream: 0, sent_bytes: 0, received_bytes: 0 })
    }

    fn cpu(t_us: u64) -> Result<CpuSample, RecordError> {
        Ok(CpuSample::of_thread(t_us, ThreadRole::Telemetry, 0, None))
    }

    #[test]
    fn tables_are_merged_by_time_the_first_one_first() {
        let mut rows = Rows::default();
        rows.add([1, 3, 3, 9].into_iter().map(delivery)).expect("a row");
        rows.add([].into_iter().map(cpu)).expect("no row");
        rows.add([2, 3, 4].into_iter().map(cpu)).expect("a row");
        let seen: Vec<(u64, bool)> = rows
            .map(|row| row.expect("a row"))
            .map(|row| (row.t_us(), matches!(row, AnyRow::Cpu(_))))
            .collect();
        let wanted = [(1, false), (2, true), (3, false), (3, false), (3, true), (4, true), (9, false)];
        assert_eq!(seen, wanted);
    }

    #[test]
    fn a_time_that_goes_back_is_told_and_ends_it() {
        let mut rows = Rows::default();
        rows.add([1, 5, 4, 6].into_iter().map(delivery)).expect("a row");
        let seen: Vec<_> = rows.collect();
        assert!(matches!(
            seen.as_slice(),
            [Ok(_), Err(RecordError::Order { table: "delivery", before_us: 5, t_us: 4 })]
        ));
    }
}

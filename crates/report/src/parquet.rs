//! Parquet: one row for each run, for data frames and databases.
//!
//! Columns are typed and documented: the file's metadata has a sentence for each under `pipefill.columns`, as JSON. What was not measured is
//! null, never 0. Never: all rows as values at once; a group of rows is written before the next one is made.

mod columns;

use crate::axis_columns::AxisColumns;
use ::parquet::basic::{Compression, GzipLevel, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{BoolType, ByteArrayType, DataType, DoubleType, Int64Type};
use ::parquet::errors::Result;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::Type;
use columns::COLUMNS;
use pipefill_analysis::findings::experiment::{CellResult, Experiment};
use pipefill_analysis::findings::metrics::RunMetrics;
use serde_json::{Value, json};
use std::io::Write;
use std::sync::Arc;

pub use ::parquet::errors::ParquetError;

/// Rows that are written together.
const GROUP: usize = 10_000;
/// The key of the columns' descriptions in the file's metadata.
const DESCRIPTIONS: &str = "pipefill.columns";

/// A run, and the cell that it belongs to.
type Row<'a> = (&'a CellResult, &'a RunMetrics);

/// Writes every run of `experiment` as a row, in plan order, valid or not.
///
/// # Errors
/// `writer` can't be written.
pub fn write(experiment: &Experiment, writer: impl Write + Send) -> Result<()> {
    let axes = AxisColumns::of(experiment);
    let properties = WriterProperties::builder()
        .set_compression(Compression::GZIP(GzipLevel::default()))
        .set_created_by(format!("pipefill {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(vec![KeyValue::new(DESCRIPTIONS.to_owned(), descriptions())]))
        .build();
    let mut file = SerializedFileWriter::new(writer, Arc::new(schema(&axes)?), Arc::new(properties))?;
    let rows: Vec<Row<'_>> =
        experiment.cells.iter().flat_map(|cell| cell.run_values.iter().map(move |run| (cell, run))).collect();
    for rows in rows.chunks(GROUP) {
        let mut group = file.next_row_group()?;
        for &axis in &axes.texts {
            let text = |(cell, _): &Row<'_>| cell.axes.get(axis).map(|value| json!(value));
            next(&mut group, Physical::BYTE_ARRAY, rows.iter().map(text))?;
        }
        for &name in &axes.numbers {
            let number = |(cell, _): &Row<'_>| cell.axis_numbers.get(name).map(|value| json!(value));
            next(&mut group, Physical::DOUBLE, rows.iter().map(number))?;
        }
        let values = rows.iter().map(|&(cell, run)| values(cell, run)).collect::<Result<Vec<_>>>()?;
        for (place, column) in COLUMNS.iter().enumerate() {
            next(&mut group, column.kind, values.iter().map(|row| row[place].clone()))?;
        }
        group.close()?;
    }
    file.close().map(drop)
}

/// What a run has in each column.
fn values(cell: &CellResult, run: &RunMetrics) -> Result<Vec<Option<Value>>> {
    let row = columns::row(cell, run).map_err(|error| ParquetError::External(error.into()))?;
    Ok(COLUMNS.iter().map(|column| row.pointer(column.pointer).cloned()).collect())
}

fn descriptions() -> String {
    let all = COLUMNS.iter().map(|column| (column.name.to_owned(), column.about.into()));
    Value::Object(all.collect()).to_string()
}

fn schema(axes: &AxisColumns<'_>) -> Result<Type> {
    let field = |(name, physical): (&str, Physical)| {
        let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
        let is_text = physical == Physical::BYTE_ARRAY;
        field.with_logical_type(is_text.then_some(LogicalType::String)).build().map(Arc::new)
    };
    let texts = axes.texts.iter().map(|&axis| (axis, Physical::BYTE_ARRAY));
    let numbers = axes.numbers.iter().map(|&name| (name, Physical::DOUBLE));
    let fields = texts.chain(numbers).chain(COLUMNS.iter().map(|column| (column.name, column.kind)));
    Type::group_type_builder("run").with_fields(fields.map(field).collect::<Result<Vec<_>>>()?).build()
}

/// Writes the next column of `group`. A value of another type, or larger than the column holds, is null: nothing that is measured is.
fn next<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    kind: Physical,
    values: impl Iterator<Item = Option<Value>>,
) -> Result<()> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("the schema has fewer columns".to_owned()));
    };
    match kind {
        Physical::BOOLEAN => fill::<BoolType>(&mut column, values.map(|value| value?.as_bool()))?,
        Physical::INT64 => fill::<Int64Type>(&mut column, values.map(|value| value?.as_i64()))?,
        Physical::DOUBLE => fill::<DoubleType>(&mut column, values.map(|value| value?.as_f64()))?,
        _ => fill::<ByteArrayType>(&mut column, values.map(|value| Some(value?.as_str()?.into())))?,
    }
    column.close()
}

fn fill<T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    let values: Vec<Option<T::T>> = values.collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = values.into_iter().flatten().collect();
    column.typed::<T>().write_batch(&values, Some(&levels), None).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use columns::Column;

    #[test]
    fn every_column_is_in_the_guide() {
        let guide = include_str!("../../../docs/guide/exports.md");
        for Column { name, kind, about, .. } in COLUMNS {
            let kind = match *kind {
                Physical::INT64 => "int64",
                Physical::DOUBLE => "double",
                Physical::BOOLEAN => "boolean",
                _ => "string",
            };
            let row = format!("| `{name}` | {kind} | {about} |");
            assert!(guide.lines().any(|line| line == row), "docs/guide/exports.md lacks: {row}");
        }
    }
}

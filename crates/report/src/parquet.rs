//! Parquet: one row for each run, for data frames and databases.
//!
//! Columns are typed and documented: the file's metadata has a sentence for each under `pipefill.columns`, as JSON. What was not measured is
//! null, never 0. Never: all rows as values at once; a group of rows is written before the next one is made.

mod columns;

use ::parquet::basic::{Compression, GzipLevel, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use ::parquet::errors::Result;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::Type;
use columns::{COLUMNS, Column, Value};
use indexmap::IndexSet;
use pipefill_analysis::findings::experiment::{CellResult, Experiment};
use pipefill_analysis::findings::metrics::RunMetrics;
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
    let axes: IndexSet<&str> =
        experiment.cells.iter().flat_map(|cell| cell.axes.keys()).map(String::as_str).collect();
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
        for &axis in &axes {
            let text = |(cell, _): &Row<'_>| cell.axes.get(axis).cloned().map(Value::Text);
            next(&mut group, Physical::BYTE_ARRAY, rows.iter().map(text))?;
        }
        for column in COLUMNS {
            next(
                &mut group,
                column.kind.physical(),
                rows.iter().map(|&(cell, run)| (column.value)(cell, run)),
            )?;
        }
        group.close()?;
    }
    file.close().map(drop)
}

fn descriptions() -> String {
    let all: serde_json::Map<String, serde_json::Value> =
        COLUMNS.iter().map(|column| (column.name.to_owned(), column.about.into())).collect();
    serde_json::Value::from(all).to_string()
}

fn schema(axes: &IndexSet<&str>) -> Result<Type> {
    let text = |name: &str| {
        let field = Type::primitive_type_builder(name, Physical::BYTE_ARRAY);
        field.with_repetition(Repetition::OPTIONAL).with_logical_type(Some(LogicalType::String)).build()
    };
    let of = |column: &Column| match column.kind.physical() {
        Physical::BYTE_ARRAY => text(column.name),
        physical => {
            Type::primitive_type_builder(column.name, physical).with_repetition(Repetition::OPTIONAL).build()
        }
    };
    let fields = axes.iter().map(|axis| text(axis)).chain(COLUMNS.iter().map(of));
    let fields = fields.map(|field| field.map(Arc::new)).collect::<Result<Vec<_>>>()?;
    Type::group_type_builder("run").with_fields(fields).build()
}

/// Writes the next column of `group`.
fn next<W: Write + Send>(
    group: &mut ::parquet::file::writer::SerializedRowGroupWriter<'_, W>,
    physical: Physical,
    values: impl Iterator<Item = Option<Value>>,
) -> Result<()> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("the schema has fewer columns".to_owned()));
    };
    let values: Vec<Option<Value>> = values.collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    fill(&mut column, physical, values.into_iter().flatten(), &levels)?;
    column.close()
}

fn fill(
    column: &mut SerializedColumnWriter<'_>,
    physical: Physical,
    values: impl Iterator<Item = Value>,
    levels: &[i16],
) -> Result<()> {
    let levels = Some(levels);
    match physical {
        Physical::BOOLEAN => {
            let values: Vec<bool> = values.filter_map(Value::flag).collect();
            column.typed::<BoolType>().write_batch(&values, levels, None)?;
        }
        Physical::INT64 => {
            let values: Vec<i64> = values.filter_map(Value::integer).collect();
            column.typed::<Int64Type>().write_batch(&values, levels, None)?;
        }
        Physical::DOUBLE => {
            let values: Vec<f64> = values.filter_map(Value::float).collect();
            column.typed::<DoubleType>().write_batch(&values, levels, None)?;
        }
        _ => {
            let values: Vec<ByteArray> =
                values.filter_map(Value::text).map(|text| ByteArray::from(text.into_bytes())).collect();
            column.typed::<ByteArrayType>().write_batch(&values, levels, None)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_in_the_guide() {
        let guide = include_str!("../../../docs/guide/exports.md");
        for Column { name, kind, about, .. } in COLUMNS {
            let kind = kind.name();
            let row = format!("| `{name}` | {kind} | {about} |");
            assert!(guide.lines().any(|line| line == row), "docs/guide/exports.md lacks: {row}");
        }
    }
}

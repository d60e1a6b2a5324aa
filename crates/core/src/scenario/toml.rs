//! TOML as the readers want it: keys with their places, lists of tables, the text of a scalar.

use super::error::Origin;
use super::layer::Text;
use std::ops::Range;
use toml_edit::{Item, TableLike, Value};

/// One key of a TOML table.
pub(super) struct TomlEntry<'a> {
    pub(super) name: &'a str,
    /// Where the key stands.
    pub(super) at: Origin,
    pub(super) item: &'a Item,
}

impl TomlEntry<'_> {
    /// Where the value stands; the key where TOML gives it no place of its own.
    pub(super) fn value_at(&self) -> Origin {
        self.item.span().map_or_else(|| self.at.clone(), in_file)
    }
}

/// The keys of a table in file order.
pub(super) fn entries(table: &dyn TableLike) -> Vec<TomlEntry<'_>> {
    table
        .iter()
        .map(|(name, item)| {
            let span = table.key(name).and_then(toml_edit::Key::span);
            TomlEntry { name, at: in_file(span.or_else(|| item.span()).unwrap_or(0..0)), item }
        })
        .collect()
}

/// A table of a list, and where it stands.
pub(super) type Listed<'a> = (&'a dyn TableLike, Option<Range<usize>>);

/// `[[name]]`, or a list of inline tables.
pub(super) fn tables(item: &Item) -> Option<Vec<Listed<'_>>> {
    match item {
        Item::ArrayOfTables(array) => Some(array.iter().map(|table| (table as _, table.span())).collect()),
        Item::Value(Value::Array(array)) => {
            array.iter().map(|value| Some((value.as_inline_table()? as _, value.span()))).collect()
        }
        _ => None,
    }
}

/// The text of a scalar; `None` for lists and tables.
pub(super) fn scalar(value: &Value) -> Option<Text> {
    let text = match value {
        Value::String(text) => text.value().clone(),
        Value::Integer(number) => number.value().to_string(),
        Value::Float(number) => number.value().to_string(),
        Value::Boolean(flag) => flag.value().to_string(),
        Value::Datetime(time) => time.value().to_string(),
        Value::Array(_) | Value::InlineTable(_) => return None,
    };
    let origin = in_file(value.span().unwrap_or(0..0));
    Some(Text { text, origin })
}

/// A place in the scenario file.
pub(super) fn in_file(span: Range<usize>) -> Origin {
    Origin { source: 0, span }
}

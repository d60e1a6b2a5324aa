//! What the items of one module name and define, without the modules in it.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use std::collections::BTreeSet;
use syn::visit::{self, Visit};
use syn::{
    Attribute, Expr, ExprMethodCall, Field, ImplItem, Item, ItemUse, Lit, Local, Macro, Path, TraitItem,
    TypeArray, UseTree, Variant,
};

/// A path as it is written, or one leaf of an import.
pub(crate) struct Name {
    /// The last one ends in `!` where it is a macro, and is `*` where all is imported; `.method` alone is a call of a method.
    pub(crate) segments: Vec<String>,
    /// From 1.
    pub(crate) line: usize,
    /// It stands in code that is built for unit tests only.
    pub(crate) is_test: bool,
}

/// A number as it is written.
pub(crate) struct Literal {
    pub(crate) text: String,
    /// From 1.
    pub(crate) line: usize,
    /// It stands in code that is built for unit tests only.
    pub(crate) is_test: bool,
}

/// What `use` brings into a module.
pub(super) struct Import {
    /// None where everything is imported (`*`).
    pub(super) name: Option<String>,
    pub(super) segments: Vec<String>,
}

/// All of one module.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) names: Vec<Name>,
    pub(super) literals: Vec<Literal>,
    pub(super) imports: Vec<Import>,
    pub(super) items: BTreeSet<String>,
}

/// What `items` name and define.
pub(super) fn contents(items: &[Item], is_test: bool) -> Contents {
    let mut collector = Collector { contents: Contents::default(), is_test };
    for item in items.iter().filter(|item| !matches!(item, Item::Mod(_))) {
        collector.contents.items.extend(defined_name(item));
        collector.visit_item(item);
    }
    collector.contents
}

/// `#[cfg(test)]` and `#[test]` are among `attributes`; with `any` or `not` the code is built otherwise too.
pub(super) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        let condition = || attribute.parse_args::<Ident>().is_ok_and(|ident| ident == "test");
        path.is_ident("test") || path.is_ident("cfg") && condition()
    })
}

struct Collector {
    contents: Contents,
    is_test: bool,
}

impl Collector {
    fn inside(&mut self, attributes: &[Attribute], look: impl FnOnce(&mut Self)) {
        let before = self.is_test;
        self.is_test |= is_for_tests(attributes);
        look(self);
        self.is_test = before;
    }

    fn name(&mut self, segments: Vec<String>, span: Span) {
        self.contents.names.push(Name { segments, line: span.start().line, is_test: self.is_test });
    }

    fn literal(&mut self, text: String, span: Span) {
        self.contents.literals.push(Literal { text, line: span.start().line, is_test: self.is_test });
    }

    fn import(&mut self, before: &[String], tree: &UseTree) {
        let longer = |ident: &Ident| [before, &[plain(ident)]].concat();
        let (name, segments, span) = match tree {
            UseTree::Path(path) => return self.import(&longer(&path.ident), &path.tree),
            UseTree::Group(group) => return group.items.iter().for_each(|tree| self.import(before, tree)),
            UseTree::Name(leaf) if leaf.ident == "self" => {
                (before.last().cloned(), before.to_vec(), leaf.ident.span())
            }
            UseTree::Name(leaf) => (Some(plain(&leaf.ident)), longer(&leaf.ident), leaf.ident.span()),
            UseTree::Rename(leaf) => (Some(plain(&leaf.rename)), longer(&leaf.ident), leaf.ident.span()),
            UseTree::Glob(glob) => {
                self.name([before, &["*".to_owned()]].concat(), glob.star_token.span);
                self.contents.imports.push(Import { name: None, segments: before.to_vec() });
                return;
            }
        };
        self.name(segments.clone(), span);
        self.contents.imports.push(Import { name, segments });
    }

    /// Paths and numbers of a macro's input, whatever it makes of them.
    fn tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let is_punct = |at: usize, sign: char| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == sign);
        // `pair.0` has the number of a field; `..0` has none.
        let is_member = |at: usize| at >= 1 && is_punct(at - 1, '.') && !(at >= 2 && is_punct(at - 2, '.'));
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            match token {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Literal(literal) => {
                    if !is_member(at)
                        && let Lit::Int(_) | Lit::Float(_) = Lit::new(literal.clone())
                    {
                        self.literal(literal.to_string(), literal.span());
                    }
                }
                TokenTree::Ident(member) if is_member(at) => {
                    if matches!(tokens.get(at + 1), Some(TokenTree::Group(_))) {
                        self.name(vec![format!(".{member}")], member.span());
                    }
                }
                TokenTree::Ident(first) => {
                    let mut segments = vec![plain(first)];
                    while is_punct(at + 1, ':')
                        && is_punct(at + 2, ':')
                        && let Some(TokenTree::Ident(next)) = tokens.get(at + 3)
                    {
                        segments.push(plain(next));
                        at += 3;
                    }
                    let is_macro =
                        is_punct(at + 1, '!') && matches!(tokens.get(at + 2), Some(TokenTree::Group(_)));
                    if let Some(last) = segments.last_mut().filter(|_| is_macro) {
                        last.push('!');
                    }
                    self.name(segments, first.span());
                }
                TokenTree::Punct(_) => {}
            }
            at += 1;
        }
    }
}

impl<'ast> Visit<'ast> for Collector {
    fn visit_item(&mut self, item: &'ast Item) {
        self.inside(item_attributes(item), |collector| visit::visit_item(collector, item));
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes: &[Attribute] = match item {
            ImplItem::Const(item) => &item.attrs,
            ImplItem::Fn(item) => &item.attrs,
            ImplItem::Type(item) => &item.attrs,
            ImplItem::Macro(item) => &item.attrs,
            _ => &[],
        };
        self.inside(attributes, |collector| visit::visit_impl_item(collector, item));
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        let attributes: &[Attribute] = match item {
            TraitItem::Const(item) => &item.attrs,
            TraitItem::Fn(item) => &item.attrs,
            TraitItem::Type(item) => &item.attrs,
            TraitItem::Macro(item) => &item.attrs,
            _ => &[],
        };
        self.inside(attributes, |collector| visit::visit_trait_item(collector, item));
    }

    fn visit_field(&mut self, field: &'ast Field) {
        self.inside(&field.attrs, |collector| visit::visit_field(collector, field));
    }

    fn visit_variant(&mut self, variant: &'ast Variant) {
        self.inside(&variant.attrs, |collector| visit::visit_variant(collector, variant));
    }

    fn visit_local(&mut self, local: &'ast Local) {
        self.inside(&local.attrs, |collector| visit::visit_local(collector, local));
    }

    /// Attributes name derives and lints, which are no dependencies of a module.
    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.import(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'ast Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| plain(&segment.ident)).collect();
        if let Some(first) = path.segments.first() {
            self.name(segments, first.ident.span());
        }
        visit::visit_path(self, path);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        self.name(vec![format!(".{}", plain(&call.method))], call.method.span());
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, invocation: &'ast Macro) {
        let mut segments: Vec<String> =
            invocation.path.segments.iter().map(|segment| plain(&segment.ident)).collect();
        if let Some((last, first)) = segments.last_mut().zip(invocation.path.segments.first()) {
            last.push('!');
            self.name(segments, first.ident.span());
        }
        self.tokens(invocation.tokens.clone());
    }

    /// The length of an array decides nothing: the compiler counts its elements.
    fn visit_type_array(&mut self, array: &'ast TypeArray) {
        self.visit_type(&array.elem);
        if !matches!(array.len, Expr::Lit(_)) {
            self.visit_expr(&array.len);
        }
    }

    fn visit_lit(&mut self, literal: &'ast Lit) {
        match literal {
            Lit::Int(number) => self.literal(number.to_string(), number.span()),
            Lit::Float(number) => self.literal(number.to_string(), number.span()),
            _ => {}
        }
    }
}

/// `r#type` is `type`.
fn plain(ident: &Ident) -> String {
    let text = ident.to_string();
    text.strip_prefix("r#").map_or(text.clone(), str::to_owned)
}

fn defined_name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(plain(ident))
}

fn item_attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

//! Adding to a settings file and taking out again, as edits of its text: what is there keeps its bytes, and what was added is
//! undone to the byte.
//!
//! Every addition is put behind what stands last, so that taking it out leaves what was there before. Whether a list or an
//! object was there already, and empty, shows in what it begins with: what is put into one begins with a single space.

use gallivant_core::json::canonical::write_string;
use jsonc_parser::ast::{Array, Object, Value};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

/// What a settings file is to hold.
#[derive(Clone, Debug)]
pub(super) enum Wanted {
    Object(Vec<(&'static str, Wanted)>),
    Array(Vec<Element>),
}

/// An element of a list.
#[derive(Clone, Debug)]
pub(super) enum Element {
    /// One hook that starts this command. Every command of which this says something is the same hook, in whatever group it
    /// stands.
    Hook {
        command: String,
        judge: fn(&str) -> Option<Program>,
    },
    Text(&'static str),
}

/// The program of a command that is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    There,
    Gone,
}

/// What of the wanted a text has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    There,
    Missing,
    /// The hook is there, and the program that it starts is not.
    NoProgram,
}

impl Presence {
    /// The word for people.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Presence::There => "there",
            Presence::Missing => "missing",
            Presence::NoProgram => "no-program",
        }
    }
}

/// Why a text cannot be edited: one line.
pub(super) type Unfit = String;

/// What stands in front of what was put into a list or an object that was there and empty. Another program that writes the file
/// anew may lose it; what is empty then is taken for made here.
const IN_WHAT_WAS_THERE: &str = " ";

/// An edit: from where to where, and what stands there then.
type Edit = (usize, usize, String);

/// The text of a file that holds this and nothing else.
pub(super) fn made(wanted: &Wanted) -> String {
    format!("{}\n", render(wanted, &Style { newline: "\n", unit: "  ".to_owned() }, ""))
}

/// The text with what is wanted.
pub(super) fn merge(text: &str, wanted: &Wanted) -> Result<String, Unfit> {
    repeat(text, |text, root| {
        refuse_doubled(root, wanted)?;
        let style = Style::of(text, root);
        Ok(Next::Edits(add(text, root, wanted, &style, 1)?))
    })
    .map(Option::unwrap_or_default)
}

/// The text without it; none where nothing else was in the file, and it was made here.
pub(super) fn unmerge(text: &str, wanted: &Wanted) -> Result<Option<String>, Unfit> {
    repeat(text, |text, root| {
        refuse_doubled(root, wanted)?;
        Ok(match take(text, root, wanted) {
            None => Next::Edits(Vec::new()),
            Some(Taken::Edits(edits)) => Next::Edits(edits),
            Some(Taken::Whole) => Next::Nothing,
        })
    })
}

/// What of it is there and what is missing: each hook by the path to it. Refused where [`merge`] would be.
pub(super) fn compare(text: &str, wanted: &Wanted) -> Result<Vec<(String, Presence)>, Unfit> {
    merge(text, wanted)?;
    let parsed = parse(text)?;
    let mut found = Vec::new();
    list(Some(&parsed), wanted, "", &mut found);
    Ok(found)
}

enum Next {
    Edits(Vec<Edit>),
    Nothing,
}

/// One edit after another, until there is none left to make.
fn repeat(
    text: &str,
    next: impl Fn(&str, &Object<'_>) -> Result<Next, Unfit>,
) -> Result<Option<String>, Unfit> {
    let mut text = text.to_owned();
    loop {
        let Value::Object(root) = &parse(&text)? else { return Err("the settings are no object".to_owned()) };
        let mut edits = match next(&text, root)? {
            Next::Nothing => return Ok(None),
            Next::Edits(edits) if edits.is_empty() => return Ok(Some(text)),
            Next::Edits(edits) => edits,
        };
        edits.sort_by_key(|edit| std::cmp::Reverse(edit.0));
        let mut edited = text.clone();
        for (from, to, new) in edits {
            edited.replace_range(from..to, &new);
        }
        text = edited;
    }
}

fn parse(text: &str) -> Result<Value<'_>, Unfit> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options)
        .map_err(|error| format!("the settings are no JSON: {}", error.to_string().replace('\n', " ")))?;
    parsed.value.ok_or_else(|| "the settings are no object".to_owned())
}

/// How the file is written.
struct Style {
    newline: &'static str,
    unit: String,
}

impl Style {
    fn of(text: &str, root: &Object<'_>) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let first = root.properties.first().map(|first| before(text, first.range.start));
        let unit = first.and_then(|space| space.rsplit_once('\n')).map(|(_, unit)| unit.to_owned());
        Style { newline, unit: unit.filter(|unit| !unit.is_empty()).unwrap_or_else(|| "  ".to_owned()) }
    }
}

/// The white space in front of a position.
fn before(text: &str, position: usize) -> &str {
    let start = text[..position].trim_end().len();
    &text[start..position]
}

fn render(wanted: &Wanted, style: &Style, indent: &str) -> String {
    match wanted {
        Wanted::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(element).collect();
            format!("[{}]", elements.join(", "))
        }
        Wanted::Object(members) => {
            let inner = format!("{indent}{}", style.unit);
            let members = members
                .iter()
                .map(|(name, wanted)| format!("{inner}{}", member(name, wanted, style, &inner)));
            let members = members.collect::<Vec<_>>().join(&format!(",{}", style.newline));
            format!("{{{0}{members}{0}{indent}}}", style.newline)
        }
    }
}

fn member(name: &str, wanted: &Wanted, style: &Style, indent: &str) -> String {
    format!("{}: {}", quoted(name), render(wanted, style, indent))
}

fn element(element: &Element) -> String {
    match element {
        Element::Text(text) => quoted(text),
        Element::Hook { command, .. } => {
            format!("{{\"hooks\": [{{\"type\": \"command\", \"command\": {}}}]}}", quoted(command))
        }
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    write_string(text, &mut out);
    out
}

/// Refuses a member of ours that an object has twice: a harness may look at the other one than is edited here.
fn refuse_doubled(object: &Object<'_>, wanted: &Wanted) -> Result<(), Unfit> {
    let Wanted::Object(members) = wanted else { return Ok(()) };
    for (name, wanted) in members {
        let mut found = object.properties.iter().filter(|property| property.name.as_str() == *name);
        let first = found.next();
        if found.next().is_some() {
            return Err(format!("the member is there twice, member=`{name}`"));
        }
        if let Some(Value::Object(inner)) = first.map(|property| &property.value) {
            refuse_doubled(inner, wanted)?;
        }
    }
    Ok(())
}

/// The edits that add the first thing that is missing.
fn add(
    text: &str,
    object: &Object<'_>,
    wanted: &Wanted,
    style: &Style,
    depth: usize,
) -> Result<Vec<Edit>, Unfit> {
    let Wanted::Object(members) = wanted else { return Ok(Vec::new()) };
    for (name, wanted) in members {
        let Some(found) = object.get(name) else {
            let children: Vec<Range> = object.properties.iter().map(|property| property.range).collect();
            return Ok(append(text, object.range, &children, style, depth, |indent| {
                member(name, wanted, style, indent)
            }));
        };
        let edits = match (&found.value, wanted) {
            (Value::Object(inner), Wanted::Object(_)) => add(text, inner, wanted, style, depth + 1)?,
            (Value::Array(array), Wanted::Array(elements)) => {
                match elements.iter().find(|element| presence(array, element) != Presence::There) {
                    None => Vec::new(),
                    Some(bad) => mend(text, array, bad, style, depth + 1),
                }
            }
            _ => {
                return Err(format!(
                    "the member is of another type than the harness documents, member=`{name}`"
                ));
            }
        };
        if !edits.is_empty() {
            return Ok(edits);
        }
    }
    Ok(Vec::new())
}

/// The edit that makes an element be there: the command of a program that is gone is replaced where it stands, and taken out
/// where another one is there that works.
fn mend(text: &str, array: &Array<'_>, wanted: &Element, style: &Style, depth: usize) -> Vec<Edit> {
    if let (Some(found), Element::Hook { command, .. }) = (find(array, wanted), wanted)
        && let Some(at) = found.command
    {
        if places(array, wanted).iter().any(|place| place.program == Program::There) {
            return match found.taken_out(text, array) {
                Taken::Edits(edits) => edits,
                Taken::Whole => Vec::new(),
            };
        }
        return vec![(at.start, at.end, quoted(command))];
    }
    append(text, array.range, &children(array), style, depth, |_| element(wanted))
}

fn children(array: &Array<'_>) -> Vec<Range> {
    array.elements.iter().map(Ranged::range).collect()
}

/// Puts something behind what stands last in an object or a list.
fn append(
    text: &str,
    container: Range,
    children: &[Range],
    style: &Style,
    depth: usize,
    new: impl Fn(&str) -> String,
) -> Vec<Edit> {
    let indent = style.unit.repeat(depth);
    let Some(last) = children.last() else {
        let at = container.start + 1;
        return vec![(at, at, format!("{IN_WHAT_WAS_THERE}{}", new(&indent)))];
    };
    let comma = comma_after(text, last.end);
    let behind = comma.map_or(last.end, |comma| comma + 1);
    let note = note_after(text, behind);
    let mut space = before(text, last.start).to_owned();
    if space.is_empty() && text.contains("\": ") {
        space = " ".to_owned();
    }
    if note.is_some() && !space.contains('\n') {
        space = format!("{}{indent}", style.newline);
    }
    let indent = space.rsplit_once('\n').map_or(indent.as_str(), |(_, indent)| indent);
    let at = note.unwrap_or(behind);
    let new = new(indent);
    match comma {
        Some(_) => vec![(at, at, format!("{space}{new},"))],
        None if at == last.end => vec![(at, at, format!(",{space}{new}"))],
        None => vec![(last.end, last.end, ",".to_owned()), (at, at, format!("{space}{new}"))],
    }
}

/// Where the comma behind a value is, comments passed over; none where there is none.
fn comma_after(text: &str, mut at: usize) -> Option<usize> {
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        let rest = &text[at..];
        if rest.starts_with(',') {
            return Some(at);
        }
        let length = if rest.starts_with("//") {
            rest.find('\n')?
        } else if rest.starts_with("/*") {
            rest.find("*/")? + 2
        } else {
            return None;
        };
        at += length;
    }
}

/// The end of the comment that follows on the same line, and belongs to what stands before it.
fn note_after(text: &str, at: usize) -> Option<usize> {
    let line = text[at..].split(['\n', '\r']).next().unwrap_or_default();
    let note = line.trim_start_matches([' ', '\t']);
    let start = at + line.len() - note.len();
    if note.starts_with("//") {
        return Some(start + note.trim_end().len());
    }
    note.strip_prefix("/*").and_then(|inner| inner.find("*/")).map(|end| start + end + 4)
}

/// Where a list has an element.
struct Place<'a> {
    /// The element's position in the list.
    at: usize,
    /// Of a hook that stands in its group beside others: the group's list, and the position there.
    beside: Option<(&'a Array<'a>, usize)>,
    /// Of a hook: where its command stands.
    command: Option<Range>,
    program: Program,
}

impl Place<'_> {
    fn taken_out(&self, text: &str, array: &Array<'_>) -> Taken {
        match self.beside {
            Some((hooks, at)) => cut(text, hooks.range, &children(hooks), at),
            None => cut(text, array.range, &children(array), self.at),
        }
    }
}

/// The last of those that are the element; before them one whose program is gone.
fn find<'a>(array: &'a Array<'a>, element: &Element) -> Option<Place<'a>> {
    let mut all = places(array, element);
    let gone = all.iter().rposition(|place| place.program == Program::Gone);
    gone.map(|gone| all.swap_remove(gone)).or_else(|| all.pop())
}

fn places<'a>(array: &'a Array<'a>, element: &Element) -> Vec<Place<'a>> {
    let mut places = Vec::new();
    for (at, found) in array.elements.iter().enumerate() {
        match (found, element) {
            (Value::StringLit(found), Element::Text(text)) if found.value == *text => {
                places.push(Place { at, beside: None, command: None, program: Program::There });
            }
            (Value::Object(group), Element::Hook { command: ours, judge }) => {
                let Some(Value::Array(hooks)) = group.get("hooks").map(|hooks| &hooks.value) else {
                    continue;
                };
                for (inner, hook) in hooks.elements.iter().enumerate() {
                    let Some((command, range)) = command_of(hook) else { continue };
                    let program = if command == ours { Some(Program::There) } else { judge(command) };
                    let beside = (hooks.elements.len() > 1).then_some((hooks, inner));
                    places.extend(program.map(|program| Place { at, beside, command: Some(range), program }));
                }
            }
            _ => {}
        }
    }
    places
}

fn presence(array: &Array<'_>, element: &Element) -> Presence {
    match find(array, element).map(|place| place.program) {
        None => Presence::Missing,
        Some(Program::There) => Presence::There,
        Some(Program::Gone) => Presence::NoProgram,
    }
}

/// The command of a hook that is one, and where it stands.
fn command_of<'a>(hook: &'a Value<'a>) -> Option<(&'a str, Range)> {
    let Value::Object(hook) = hook else { return None };
    let text = |name| match hook.get(name).map(|property| &property.value) {
        Some(Value::StringLit(text)) => Some((&*text.value, text.range)),
        _ => None,
    };
    text("command").filter(|_| text("type").is_some_and(|(kind, _)| kind == "command"))
}

enum Taken {
    Edits(Vec<Edit>),
    /// Nothing is left of what contains it.
    Whole,
}

/// The edits that take out what was added last.
fn take(text: &str, object: &Object<'_>, wanted: &Wanted) -> Option<Taken> {
    let Wanted::Object(members) = wanted else { return None };
    for (name, wanted) in members.iter().rev() {
        let Some(at) = object.properties.iter().position(|property| property.name.as_str() == *name) else {
            continue;
        };
        let taken = match (&object.properties[at].value, wanted) {
            (Value::Object(inner), Wanted::Object(_)) => take(text, inner, wanted),
            (Value::Array(array), Wanted::Array(elements)) => {
                let found = elements.iter().rev().find_map(|element| places(array, element).pop());
                found.map(|found| found.taken_out(text, array))
            }
            _ => None,
        };
        match taken {
            None => {}
            Some(Taken::Edits(edits)) => return Some(Taken::Edits(edits)),
            Some(Taken::Whole) => {
                let children: Vec<Range> = object.properties.iter().map(|property| property.range).collect();
                return Some(cut(text, object.range, &children, at));
            }
        }
    }
    None
}

/// Takes one child out, and with an only child its container, unless that was there before or holds a comment.
fn cut(text: &str, container: Range, children: &[Range], at: usize) -> Taken {
    let child = children[at];
    let from = child.start - before(text, child.start).len();
    if children.len() == 1 {
        let (front, behind) = (&text[container.start + 1..child.start], &text[child.end..container.end - 1]);
        let is_blank = |text: &str| text.chars().all(|c| c.is_whitespace() || c == ',');
        if front != IN_WHAT_WAS_THERE && front.trim().is_empty() && is_blank(behind) {
            return Taken::Whole;
        }
        let end = comma_after(text, child.end).map_or(child.end, |comma| comma + 1);
        return Taken::Edits(vec![(from, end, String::new())]);
    }
    let behind = comma_after(text, child.end);
    let is_last = at + 1 == children.len();
    Taken::Edits(match behind {
        Some(comma) if comma == child.end => vec![(from, child.end + 1, String::new())],
        Some(comma) if !is_last || at == 0 => {
            vec![(from, child.end, String::new()), (comma, comma + 1, String::new())]
        }
        _ => {
            let comma = at.checked_sub(1).and_then(|before| comma_after(text, children[before].end));
            let mut edits = vec![(from, child.end, String::new())];
            edits.extend(comma.map(|comma| (comma, comma + 1, String::new())));
            edits
        }
    })
}

fn list(found: Option<&Value<'_>>, wanted: &Wanted, path: &str, into: &mut Vec<(String, Presence)>) {
    match wanted {
        Wanted::Object(members) => {
            for (name, wanted) in members {
                let inner = match found {
                    Some(Value::Object(object)) => object.get(name).map(|property| &property.value),
                    _ => None,
                };
                let path = if path.is_empty() { (*name).to_owned() } else { format!("{path}.{name}") };
                list(inner, wanted, &path, into);
            }
        }
        Wanted::Array(elements) => {
            let of = |element: &Element| match found {
                Some(Value::Array(array)) => presence(array, element),
                _ => Presence::Missing,
            };
            let worst = elements.iter().map(of).find(|presence| *presence != Presence::There);
            into.push((path.to_owned(), worst.unwrap_or(Presence::There)));
        }
    }
}

#[cfg(test)]
mod tests;

//! EX-JRN-73 to EX-JRN-76: the display window.

use gallivant_core::journal::{
    DisplayWindow, MAX_HISTORY_ROWS, MAX_LIVE_ROWS, MAX_PENDING_ROWS, Part, Row, RowContent, split,
};

use crate::execution_journal_reading::{lines, reader};

fn part(id: u64, position: u32) -> Part {
    Part { id: id.to_string(), position, text: format!("{id}.{position}"), is_gap: false }
}

fn parts(from: u64, to: u64) -> Vec<Part> {
    (from..=to).map(|id| part(id, 0)).collect()
}

fn places(window: &DisplayWindow) -> Vec<(u64, u32)> {
    window.painted().map(|part| (part.id.parse().expect("a number"), part.position)).collect()
}

#[test]
fn ex_jrn_73_a_row_is_split_into_parts_with_its_id_and_their_position() {
    let row = Row { id: Some("7".to_owned()), content: RowContent::Line("one\n\ntwo".to_owned()) };
    let found: Vec<_> = split(&row).into_iter().map(|part| (part.id, part.position, part.text)).collect();
    let expected = [("7", 0, "one"), ("7", 1, ""), ("7", 2, "two")];
    assert_eq!(found, expected.map(|(id, position, text)| (id.to_owned(), position, text.to_owned())));
    let gap = Row { id: Some("8".to_owned()), content: RowContent::Gap(None) };
    assert!(split(&gap)[0].is_gap);
}

#[test]
fn ex_jrn_74_rows_are_bounded_and_what_is_let_go_of_is_at_most_two_cursors() {
    let mut window = DisplayWindow::new();
    for id in 1..=10_000 {
        window.push(part(id, 0));
        if id % 300 == 0 {
            window.paint();
        }
        let (live, history, pending) = window.counts();
        assert!(live <= MAX_LIVE_ROWS && history <= MAX_HISTORY_ROWS && pending <= MAX_PENDING_ROWS);
        assert!(window.recovery_cursors().len() <= 2);
    }
    assert_eq!(window.recovery_cursors(), [Some("7901")], "one stretch: everything before what is live");
    // Nobody paints for a while: the oldest of what waits are let go of.
    for id in 10_001..=10_900 {
        window.push(part(id, 0));
    }
    assert_eq!(window.counts().2, MAX_PENDING_ROWS);
    assert_eq!(window.recovery_cursors(), [Some("7901"), Some("10501")]);
    // The oldest of history has a cursor of its own.
    window.merge(parts(7_501, 7_900), Some("7901"), Some("7501"));
    assert_eq!(window.oldest_cursor(), Some("7501"));
    for step in 1..=10 {
        let to = 7_500 - (step - 1) * 400;
        let cursor = (to - 399).to_string();
        let asked = window.oldest_cursor().map(str::to_owned);
        window.merge(parts(to - 399, to), asked.as_deref(), Some(&cursor));
        assert_eq!(window.oldest_cursor(), Some(cursor.as_str()));
        assert!(window.counts().1 <= MAX_HISTORY_ROWS && window.recovery_cursors().len() <= 2);
    }
}

#[test]
fn ex_jrn_75_merging_adds_what_is_missing_and_doubles_nothing() {
    let mut window = DisplayWindow::new();
    window.push(part(5, 1));
    window.paint();
    window.push(part(6, 0));
    window.merge(vec![part(4, 0), part(5, 0), part(5, 1), part(5, 2), part(6, 0), part(6, 1)], None, None);
    assert_eq!(places(&window), [(4, 0), (5, 0), (5, 1), (5, 2), (6, 1)]);
    window.paint();
    assert_eq!(places(&window), [(4, 0), (5, 0), (5, 1), (5, 2), (6, 0), (6, 1)]);
    window.merge(parts(4, 6), None, None);
    assert_eq!(places(&window).len(), 6);
    // Byte ids merge too.
    let byte =
        |offset: u64| Part { id: format!("byte:{offset}"), position: 0, text: String::new(), is_gap: false };
    let mut window = DisplayWindow::new();
    window.push(byte(100));
    window.paint();
    window.merge(vec![byte(40), byte(100)], Some("byte:100"), None);
    assert_eq!(window.painted().map(|part| part.id.as_str()).collect::<Vec<_>>(), ["byte:40", "byte:100"]);
    // A stretch that was let go of is whole again once it was merged.
    let mut window = DisplayWindow::new();
    parts(1, 2_300).into_iter().for_each(|part| {
        window.push(part);
        window.paint();
    });
    assert_eq!(window.recovery_cursors(), [Some("301")]);
    window.merge(parts(1, 300), Some("301"), None);
    assert_eq!(window.recovery_cursors(), Vec::<Option<&str>>::new());
    assert_eq!(places(&window).len(), 2_300);
}

#[test]
fn ex_jrn_76_a_failed_read_keeps_its_cursor_and_closing_drops_what_is_late() {
    let mut window = DisplayWindow::new();
    window.merge(parts(101, 200), None, Some("101"));
    let machine = lines(3);
    let asked = window.oldest_cursor().expect("a cursor").to_owned();
    assert!(reader(&machine).history(&asked).is_err());
    assert_eq!(window.oldest_cursor(), Some("101"));
    window.push(part(201, 0));
    window.close();
    window.push(part(202, 0));
    window.merge(parts(1, 100), Some("101"), None);
    assert_eq!((window.counts(), window.paint(), window.oldest_cursor()), ((0, 100, 0), 0, Some("101")));
}

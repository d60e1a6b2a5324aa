//! A scenario made smaller, line by line, while it still fails.

/// The most candidates that are tried.
const TRIALS: usize = 150;

/// The smallest part of `text` that is found for which `fails` still holds: whole sections first, then single keys, until none can be
/// left out any more. Parts that aren't scenarios don't fail.
pub(super) fn shrink(text: &str, mut fails: impl FnMut(&str) -> bool) -> String {
    let mut smallest = text.to_owned();
    let mut trials = 0;
    loop {
        let before = smallest.len();
        for cut in [sections, keys] {
            let mut at = 0;
            while let Some(range) = cut(&smallest).into_iter().nth(at) {
                if trials == TRIALS {
                    return smallest;
                }
                trials += 1;
                let mut candidate = smallest.clone();
                candidate.replace_range(range, "");
                if fails(&candidate) {
                    smallest = candidate;
                } else {
                    at += 1;
                }
            }
        }
        if smallest.len() == before {
            return smallest;
        }
    }
}

type Part = std::ops::Range<usize>;

/// From each heading to the next.
fn sections(text: &str) -> Vec<Part> {
    let headings = lines(text).into_iter().filter(|line| text[line.clone()].starts_with('['));
    let mut starts: Vec<usize> = headings.map(|line| line.start).collect();
    starts.push(text.len());
    starts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// Each line that sets a key.
fn keys(text: &str) -> Vec<Part> {
    lines(text).into_iter().filter(|line| text[line.clone()].contains('=')).collect()
}

fn lines(text: &str) -> Vec<Part> {
    let mut start = 0;
    let line = |line: &str| {
        let range = start..start + line.len();
        start = range.end;
        range
    };
    text.split_inclusive('\n').map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_is_left_out() {
        let text = "name = \"t\"\n[path]\nrtt = \"1ms\"\nrate = \"1mbit\"\n[[flow]]\nlength = 1\n[[flow]]\nlength = 2\n";
        let fails = |text: &str| text.contains("name") && text.contains("rate") && text.contains("[[flow]]");
        assert_eq!(shrink(text, fails), "name = \"t\"\n[path]\nrate = \"1mbit\"\n[[flow]]\n");
    }

    #[test]
    fn it_ends_where_everything_matters() {
        let text = "name = \"t\"\n[path]\n";
        assert_eq!(shrink(text, |candidate| candidate == text), text);
    }
}

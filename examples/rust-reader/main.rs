//! Says what one agent is doing: `cargo run -p gallivant-core --example reader -- DIRECTORY`.

use gallivant_core::Host;
use gallivant_core::harness_state::{LeaseProbe, Options, Reader};

fn main() {
    let directory = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let reader = Reader::open(directory, &Options::default(), &Host::system());
    // The probe notices at once when the session's wrapper has died.
    let probe = LeaseProbe::new(&reader);
    match reader.read(Some(&probe)) {
        None => println!("nothing was ever observed here"),
        Some(seen) => {
            print!("{}", seen.state.word());
            if seen.blocked_on.word() == "human" {
                print!(", a person is asked for: {}", seen.ask.word());
            }
            if let Some(reason) = seen.reason {
                print!(" ({reason})");
            }
            println!();
        }
    }
}

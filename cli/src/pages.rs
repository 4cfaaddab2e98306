//! Completions and manual pages, made of the same texts as the help.

use std::io;
use std::path::PathBuf;

use clap::CommandFactory;

use crate::arguments::{Arguments, Pages};
use crate::exit::{Outcome, Result};

pub(crate) fn pages(asked: &Pages) -> Result<Outcome> {
    match asked {
        Pages::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(*shell, &mut Arguments::command(), "gallivant", &mut text);
            io::Write::write_all(&mut io::stdout().lock(), &text)?;
        }
        Pages::Man { dir } => {
            clap_mangen::generate_to(Arguments::command(), PathBuf::from(dir))?;
        }
    }
    Ok(Outcome::Yes)
}

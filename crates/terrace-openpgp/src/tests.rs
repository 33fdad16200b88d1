//! Keys and signatures that clients accept and refuse: real ones by gpg (`testdata/make.sh`), and forged ones
//! that gpg would not create.

mod check;
mod clients;
mod fixture;
mod forge;
mod gpg;
mod hostile;
mod merge;
mod read_key;
mod read_signature;

use crate::signature::kind;

//! What clients accept and refuse, on keys and signatures made by gpg (`testdata/make.sh`) and on
//! forged ones that gpg would not make.

mod check;
mod clients;
mod fixture;
mod forge;
mod gpg;
mod hostile;
mod read_key;
mod read_signature;

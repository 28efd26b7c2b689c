//! Records, claims and verdicts: what the labs write and the site reads.

use super::*;

fn s(x: f32) -> u64 {
    u64::from(x.to_bits())
}

#[test]
fn short_integers_wrap_and_keep_their_sign() {
    assert_eq!(two(Two::Add, Ty::S16, Mode::PLAIN, 0x7fff, 1), 0x8000);
    assert_eq!(two(Two::Min, Ty::S16, Mode::PLAIN, 0xffff, 1), 0xffff);
    assert_eq!(two(Two::Min, Ty::U16, Mode::PLAIN, 0xffff, 1), 1);
    assert_eq!(two(Two::Shr, Ty::S16, Mode::PLAIN, 0x8000, 20), 0xffff);
    assert_eq!(two(Two::Shl, Ty::B32, Mode::PLAIN, 1, 32), 0);
}

#[test]
fn division_by_zero_is_all_ones_not_a_panic() {
    assert_eq!(two(Two::Div, Ty::U32, Mode::PLAIN, 7, 0), 0xffff_ffff);
    assert_eq!(two(Two::Div, Ty::S64, Mode::PLAIN, 1 << 63, u64::MAX), 1 << 63);
    assert_eq!(two(Two::Rem, Ty::S32, Mode::PLAIN, 7, 0), 7);
}

#[test]
fn a_nan_loses_in_min_and_zeros_have_signs() {
    let nan = u64::from(crate::float::NAN_SINGLE);
    assert_eq!(two(Two::Min, Ty::F32, Mode::PLAIN, nan, s(2.0)), s(2.0));
    assert_eq!(two(Two::Max, Ty::F32, Mode::PLAIN, s(-0.0), s(0.0)), s(0.0));
    assert_eq!(two(Two::Min, Ty::F32, Mode::PLAIN, s(0.0), s(-0.0)), s(-0.0));
    assert_eq!(two(Two::Add, Ty::F32, Mode::PLAIN, s(f32::INFINITY), s(f32::NEG_INFINITY)), nan);
}

#[test]
fn flushing_happens_on_the_way_in_and_out() {
    let mode = Mode { flush: true, ..Mode::PLAIN };
    let tiny = s(f32::MIN_POSITIVE / 2.0);
    assert_eq!(two(Two::Add, Ty::F32, mode, tiny, tiny), 0);
    assert_eq!(two(Two::Add, Ty::F32, Mode::PLAIN, tiny, tiny), s(f32::MIN_POSITIVE));
    assert_eq!(two(Two::Mul, Ty::F32, mode, s(f32::MIN_POSITIVE), s(-0.5)), s(-0.0));
}

#[test]
fn bit_fields_follow_the_manual() {
    assert_eq!(three(Three::Bfe, Ty::S32, Mode::PLAIN, 0xf0, 4, 4), 0xffff_ffff);
    assert_eq!(three(Three::Bfe, Ty::U32, Mode::PLAIN, 0xf0, 4, 4), 0xf);
    assert_eq!(three(Three::Bfe, Ty::U32, Mode::PLAIN, 0xf0, 40, 4), 0);
    assert_eq!(bfi(Ty::B32, 0xff, 0, 28, 8), 0xf000_0000);
    assert_eq!(one(One::Bfind, Ty::S32, Mode::PLAIN, 0xffff_fff0), 3);
    assert_eq!(one(One::BfindShift, Ty::U32, Mode::PLAIN, 1), 31);
    assert_eq!(one(One::Bfind, Ty::U64, Mode::PLAIN, 0), 0xffff_ffff);
}

#[test]
fn permutes_and_funnels() {
    assert_eq!(three(Three::Prmt, Ty::B32, Mode::PLAIN, 0x3322_1100, 0x7766_5544, 0x0123), 0x0011_2233);
    assert_eq!(three(Three::Prmt, Ty::B32, Mode::PLAIN, 0x0000_0080, 0, 0x8888), 0xffff_ffff);
    assert_eq!(three(Three::ShfLeftWrap, Ty::B32, Mode::PLAIN, 0x8000_0000, 1, 1), 3);
    assert_eq!(three(Three::ShfRightClamp, Ty::B32, Mode::PLAIN, 5, 9, 40), 9);
}

#[test]
fn conversions_saturate_and_know_nan() {
    let cvt = |to, from, a| {
        convert(to, from, Conversion { mode: Mode { round: Round::Zero, ..Mode::PLAIN }, whole: false }, a)
    };
    assert_eq!(cvt(Ty::S32, Ty::F32, s(-3.9)), (-3_i32) as u32 as u64);
    assert_eq!(cvt(Ty::U32, Ty::F32, s(-3.9)), 0);
    assert_eq!(cvt(Ty::S32, Ty::F32, s(1e20)), 0x7fff_ffff);
    assert_eq!(cvt(Ty::S32, Ty::F32, s(f32::NAN)), 0);
    assert_eq!(cvt(Ty::S64, Ty::F32, s(f32::NAN)), 1 << 63);
    assert_eq!(convert(Ty::S64, Ty::S8, Conversion::default(), 0x80), (-128_i64) as u64);
    assert_eq!(convert(Ty::F32, Ty::S64, Conversion::default(), (1 << 24) + 1), s(16_777_216.0));
    assert_eq!(cvt(Ty::F32, Ty::U64, (1 << 25) - 1), s(33_554_430.0));
}

#[test]
fn unordered_comparisons_hold_for_nan() {
    let nan = s(f32::NAN);
    assert!(!compare(Compare::Le, Ty::F32, false, nan, s(1.0)));
    assert!(compare(Compare::Leu, Ty::F32, false, nan, s(1.0)));
    assert!(!compare(Compare::Ne, Ty::F32, false, nan, s(1.0)));
    assert!(compare(Compare::Neu, Ty::F32, false, nan, s(1.0)));
}

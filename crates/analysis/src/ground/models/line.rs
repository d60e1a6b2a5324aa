//! Ordinary least squares with two variables: y = a + b·x1 + c·x2, and the standard errors of a, b and c.
//!
//! A variable that is 0 in every point is left out: its slope is 0 and has no error. Never: an answer where the points do not fix
//! one (fewer than coefficients, or all on a line in x).

/// A coefficient and its standard error; `None` where there are no more points than coefficients, or the variable was left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coefficient {
    /// The value that fits best.
    pub value: f64,
    /// Its standard error, from the residuals.
    pub error: Option<f64>,
}

/// Fits `points` of (x1, x2, y): the constant, and the slopes of x1 and x2, which are 0 and more.
pub fn fit(points: &[(f64, f64, f64)]) -> Option<[Coefficient; 3]> {
    let scale = scales(points);
    let used = scale.iter().filter(|&&scale| scale > 0.0).count();
    let freedom = points.len().checked_sub(used)?;
    let row = |&(x1, x2, _): &(f64, f64, f64)| {
        [(1.0, 1.0), (x1, scale[1]), (x2, scale[2])]
            .map(|(x, scale)| if scale > 0.0 { x / scale } else { 0.0 })
    };
    let inverse = inverse(normal(points, row, scale))?;
    let mut right = [0.0; 3];
    for point in points {
        (0..3).for_each(|i| right[i] += row(point)[i] * point.2);
    }
    let solved = [0, 1, 2].map(|i: usize| (0..3).map(|j| inverse[i][j] * right[j]).sum::<f64>());
    let residual = |point: &(f64, f64, f64)| {
        let x = row(point);
        point.2 - (0..3).map(|i| solved[i] * x[i]).sum::<f64>()
    };
    let squares: f64 = points.iter().map(|point| residual(point).powi(2)).sum();
    let coefficient = |i: usize| match scale[i] {
        scale if scale > 0.0 => Coefficient {
            value: solved[i] / scale,
            error: (freedom > 0).then(|| (squares / freedom as f64 * inverse[i][i]).max(0.0).sqrt() / scale),
        },
        _ => Coefficient { value: 0.0, error: None },
    };
    Some([0, 1, 2].map(coefficient))
}

/// The largest value of each variable, so that bytes and ones weigh alike.
fn scales(points: &[(f64, f64, f64)]) -> [f64; 3] {
    let most = |of: fn(&(f64, f64, f64)) -> f64| points.iter().map(of).fold(0.0, f64::max);
    [1.0, most(|point| point.0), most(|point| point.1)]
}

/// The matrix of the normal equations; a variable that is left out stands there alone.
fn normal(
    points: &[(f64, f64, f64)],
    row: impl Fn(&(f64, f64, f64)) -> [f64; 3],
    scale: [f64; 3],
) -> [[f64; 3]; 3] {
    let mut normal = [[0.0; 3]; 3];
    for point in points {
        let x = row(point);
        for i in 0..3 {
            (0..3).for_each(|j| normal[i][j] += x[i] * x[j]);
        }
    }
    for i in (0..3).filter(|&i| scale[i] <= 0.0) {
        normal[i][i] = 1.0;
    }
    normal
}

/// By cofactors; `None` where the matrix has none.
fn inverse(m: [[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let cofactor = |i: usize, j: usize| {
        let (a, b, c, d) = ((i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3);
        m[a][c] * m[b][d] - m[a][d] * m[b][c]
    };
    let determinant: f64 = (0..3).map(|j| m[0][j] * cofactor(0, j)).sum();
    let size: f64 = (0..3).map(|i| m[i][i]).product();
    (determinant.abs() > 1e-9 * size.abs())
        .then(|| [0, 1, 2].map(|i| [0, 1, 2].map(|j| cofactor(j, i) / determinant)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A square whose corners are 9.5 + 11·x1, each off by a half; by hand.
    #[test]
    fn errors_follow_the_residuals() {
        let points = [(0.0, 1.0, 10.0), (1.0, 0.0, 21.0), (0.0, 0.0, 9.0), (1.0, 1.0, 20.0)];
        let [base, first, second] = fit(&points).unwrap();
        assert!(
            (base.value - 9.5).abs() < 1e-9 && (first.value - 11.0).abs() < 1e-9 && second.value.abs() < 1e-9
        );
        // Residuals ±0.5 each, one degree of freedom: s² = 1; (X'X)⁻¹ has 3/4, 1, 1 on its diagonal.
        assert!((base.error.unwrap() - 0.75_f64.sqrt()).abs() < 1e-9);
        assert!((first.error.unwrap() - 1.0).abs() < 1e-9 && (second.error.unwrap() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn points_that_fix_nothing_have_no_fit() {
        assert_eq!(fit(&[(1.0, 1.0, 1.0), (2.0, 2.0, 2.0)]), None);
        assert_eq!(fit(&[(1.0, 1.0, 1.0), (2.0, 2.0, 2.0), (3.0, 3.0, 3.0)]), None);
        let exact = fit(&[(0.0, 0.0, 1.0), (1.0, 0.0, 3.0), (0.0, 1.0, 4.0)]).unwrap();
        assert_eq!(exact.map(|coefficient| coefficient.error), [None; 3]);
        assert_eq!(fit(&[]), None);
    }

    #[test]
    fn a_variable_that_is_nowhere_is_left_out() {
        let [base, first, second] = fit(&[(0.0, 0.0, 1.0), (2.0, 0.0, 5.0), (4.0, 0.0, 9.0)]).unwrap();
        assert!((base.value - 1.0).abs() < 1e-9 && (first.value - 2.0).abs() < 1e-9);
        assert!(base.error.is_some() && first.error.is_some());
        assert_eq!(second, Coefficient { value: 0.0, error: None });
        let [base, ..] = fit(&[(0.0, 0.0, 3.0), (0.0, 0.0, 5.0)]).unwrap();
        assert_eq!(base, Coefficient { value: 4.0, error: Some(1.0) });
    }

    proptest! {
        /// Whatever is measured: an answer of finite numbers, or none.
        #[test]
        fn no_points_make_it_answer_nonsense(
            points in prop::collection::vec((0_u32..70_000, 0_u32..70_000, 0_u64..1 << 40), 0..12)
        ) {
            let points: Vec<(f64, f64, f64)> =
                points.iter().map(|&(x1, x2, y)| (f64::from(x1), f64::from(x2), y as f64)).collect();
            for coefficient in fit(&points).into_iter().flatten() {
                prop_assert!(coefficient.value.is_finite(), "{coefficient:?}");
                prop_assert!(coefficient.error.is_none_or(|error| error.is_finite() && error >= 0.0), "{coefficient:?}");
            }
        }

        #[test]
        fn exact_points_give_their_own_coefficients(a in 0.0..1e6, b in 0.0..1e3, c in 0.0..1e3) {
            let points: Vec<(f64, f64, f64)> = [(90.0, 90.0), (90.0, 66.0), (1442.0, 1442.0), (1442.0, 66.0), (67038.0, 67038.0), (67038.0, 66.0)]
                .iter()
                .map(|&(x, y)| (x, y, a + b * x + c * y))
                .collect();
            let got = fit(&points).unwrap();
            let near = |coefficient: Coefficient, want: f64| (coefficient.value - want).abs() <= 1e-6 * (1.0 + want) + 1e-9 * (a + 1e5 * (b + c));
            prop_assert!(near(got[0], a) && near(got[1], b) && near(got[2], c), "{got:?}");
        }
    }
}

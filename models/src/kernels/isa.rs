//! The instruction sets that kernels are compiled for, and the choice among them.

/// An instruction set; later ones are faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Isa {
    /// Whatever the compilation target guarantees.
    Portable,
    /// AVX2 with FMA.
    Avx2,
    /// AVX-512 F, BW, VL, DQ and VNNI.
    Avx512Vnni,
}

impl Isa {
    /// The best set of this host.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vnni")
            {
                return Isa::Avx512Vnni;
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return Isa::Avx2;
            }
        }
        Isa::Portable
    }

    /// All sets that this host can run, slowest first.
    #[cfg(test)]
    pub fn available() -> Vec<Self> {
        [Isa::Portable, Isa::Avx2, Isa::Avx512Vnni]
            .into_iter()
            .filter(|isa| *isa <= Isa::detect())
            .collect()
    }

    /// Name as said in logs and records.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Portable => "portable",
            Isa::Avx2 => "avx2",
            Isa::Avx512Vnni => "avx512vnni",
        }
    }
}

/// Compiles one generic body for every instruction set and dispatches on an [`Isa`].
///
/// The body is an `#[inline(always)]` function whose first const parameter says whether fused multiply-add exists.
macro_rules! per_isa {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? = $body:ident) => {
        $(#[$meta])*
        $vis fn $name(isa: $crate::kernels::Isa, $($arg: $ty),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma")]
            fn avx512($($arg: $ty),*) $(-> $ret)? {
                $body::<true>($($arg),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2($($arg: $ty),*) $(-> $ret)? {
                $body::<true>($($arg),*)
            }
            match isa {
                // SAFETY: an `Isa` above portable is only made by `Isa::detect`, which saw these features.
                #[cfg(target_arch = "x86_64")]
                $crate::kernels::Isa::Avx512Vnni => unsafe { avx512($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::kernels::Isa::Avx2 => unsafe { avx2($($arg),*) },
                _ => $body::<false>($($arg),*),
            }
        }
    };
}
pub(crate) use per_isa;

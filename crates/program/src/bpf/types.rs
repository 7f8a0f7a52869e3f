// SPDX-License-Identifier: MIT OR Apache-2.0
//! `BPF_BTF_LOAD`: `btf_new_fd()`.

use super::attr::{bytes, Attr};
use super::objects::{Object, Types};
use super::played::{Ctx, Played};
use super::verify::write_log;
use super::Reply;
use crate::Errno;
use rota_object::btf::Btf;
use std::sync::Arc;

/// `BTF_MAX_SIZE`.
const LARGEST: u32 = 16 << 20;
/// `BPF_F_TOKEN_FD`.
const TOKEN_FD: u32 = 1 << 16;

impl Played {
    pub(super) fn btf_load(&mut self, attr: &Attr, c: &mut Ctx<'_, '_>) -> Result<Reply, Errno> {
        attr.ends_at(40)?;
        if attr.u32(32) & !TOKEN_FD != 0 {
            return Err(Errno::EINVAL);
        }
        if attr.u32(32) & TOKEN_FD != 0 {
            return Err(c.caller.object_of(attr.fd(36)).err().unwrap_or(Errno::EINVAL));
        }
        let size = attr.u32(16);
        if size > LARGEST {
            return Err(Errno::E2BIG);
        }
        let bytes = bytes(c.caller, attr.u64(0), size as usize)?;
        let (log_at, log_size, level) = (attr.u64(8), attr.u32(20), attr.u32(24));
        let btf = match Btf::parse(&bytes) {
            Ok(btf) => btf,
            Err(error) => {
                if level != 0 {
                    let full = write_log(c.caller, log_at, log_size, &format!("{error}\n"))?;
                    attr.answer(c.caller, 28, &full.to_le_bytes())?;
                }
                return Err(Errno::EINVAL);
            }
        };
        if level != 0 {
            let full = write_log(c.caller, log_at, log_size, "")?;
            attr.answer(c.caller, 28, &full.to_le_bytes())?;
        }
        let types = Types { btf: Arc::new(btf), bytes: bytes.into(), of_kernel: false };
        let id = self.objects.add(Object::Types(types));
        Ok(self.descriptor(id))
    }
}

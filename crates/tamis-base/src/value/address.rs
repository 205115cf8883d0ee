//! What address or network does a text denote?

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An IPv4 or IPv6 address. IPv4 addresses sort first, and differ from the same address mapped into IPv6.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    is_v6: bool,
    /// Big-endian; an IPv4 address has the last four bytes.
    bytes: [u8; 16],
}

/// All addresses that share a prefix.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Network {
    first: Address,
    prefix: u8,
}

impl Address {
    /// The lowest address.
    pub const FIRST: Address = Address { is_v6: false, bytes: [0; 16] };

    /// Parses an address; `None` if the text is not one.
    pub fn read(text: &str) -> Option<Address> {
        // The longest spelling has 45 characters.
        (text.len() <= 45).then(|| text.parse::<IpAddr>().ok().map(Address::from)).flatten()
    }

    /// The address with these four or sixteen bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Address> {
        let mut all = [0; 16];
        all.get_mut(16usize.checked_sub(bytes.len())?..)?.copy_from_slice(bytes);
        matches!(bytes.len(), 4 | 16).then_some(Address { is_v6: bytes.len() == 16, bytes: all })
    }

    /// Its bytes: four or sixteen.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        if self.is_v6 { &self.bytes } else { &self.bytes[12..] }
    }

    fn width(self) -> u8 {
        if self.is_v6 { 128 } else { 32 }
    }
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Self {
        let mut bytes = [0; 16];
        match address {
            IpAddr::V4(address) => bytes[12..].copy_from_slice(&address.octets()),
            IpAddr::V6(address) => bytes = address.octets(),
        }
        Address { is_v6: address.is_ipv6(), bytes }
    }
}

impl From<Address> for IpAddr {
    fn from(address: Address) -> Self {
        let [.., a, b, c, d] = address.bytes;
        if address.is_v6 { Ipv6Addr::from(address.bytes).into() } else { Ipv4Addr::new(a, b, c, d).into() }
    }
}

impl Network {
    /// Parses a text such as `10.0.0.0/8`, or a single address; or says why it is not a network.
    pub fn read(text: &str) -> Result<Network, String> {
        let shown = crate::error::shorten(text);
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let first = Address::read(address).ok_or_else(|| {
            format!("'{shown}' is not a network; write it as in cidr '10.0.0.0/8' or cidr '2001:db8::/32'")
        })?;
        let prefix = match prefix {
            None => Some(first.width()),
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok(),
            Some(_) => None,
        };
        let prefix = prefix.filter(|prefix| *prefix <= first.width());
        let prefix = prefix.ok_or_else(|| {
            format!("'{shown}' is not a network; after the `/` comes a number up to {}", first.width())
        })?;
        let network = Network { first: first.masked(prefix, false), prefix };
        if network.first != first {
            return Err(format!("'{shown}' has bits after its prefix; the network is cidr '{network}'"));
        }
        Ok(network)
    }

    /// Its first and its last address.
    pub fn ends(self) -> (Address, Address) {
        (self.first, self.first.masked(self.prefix, true))
    }

    /// The address, if there is only one.
    pub fn single(self) -> Option<Address> {
        (self.prefix == self.first.width()).then_some(self.first)
    }

    /// The number of bits that its addresses share.
    pub fn prefix(self) -> u8 {
        self.prefix
    }
}

impl Address {
    /// The address with all bits after the prefix set or cleared.
    fn masked(self, prefix: u8, ones: bool) -> Address {
        let bits = u128::from_be_bytes(self.bytes);
        let mask = match u32::from(self.width() - prefix) {
            128 => u128::MAX,
            free => (1u128 << free) - 1,
        };
        let bits = if ones { bits | mask } else { bits & !mask };
        Address { bytes: bits.to_be_bytes(), ..self }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        IpAddr::from(*self).fmt(f)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Network({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let address = |text: &str| Address::read(text).unwrap();
        assert!(address("255.255.255.255") < address("::"));
        assert!(address("9.0.0.0") < address("10.0.0.0"));
        assert_eq!(address("2001:DB8:0::1"), address("2001:db8::1"));
        assert_ne!(address("::ffff:1.2.3.4"), address("1.2.3.4"));
        assert_eq!(Address::from_bytes(&[1, 2, 3, 4]), Some(address("1.2.3.4")));
        for text in ["", "1.2.3", "1.2.3.256", "01.2.3.4", "1.2.3.4/8", ":::", "fe80::1%eth0", "localhost"] {
            assert_eq!(Address::read(text), None, "{text}");
        }
    }

    #[test]
    fn networks() {
        let ends = |text: &str| {
            let (first, last) = Network::read(text).unwrap().ends();
            format!("{first} {last}")
        };
        assert_eq!(ends("10.0.0.0/8"), "10.0.0.0 10.255.255.255");
        assert_eq!(ends("0.0.0.0/0"), "0.0.0.0 255.255.255.255");
        assert_eq!(ends("10.1.2.3/32"), "10.1.2.3 10.1.2.3");
        assert_eq!(ends("10.1.2.3"), "10.1.2.3 10.1.2.3");
        assert_eq!(ends("2001:db8::/32"), "2001:db8:: 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff");
        assert_eq!(ends("::/0"), ":: ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
        assert!(Network::read("10.1.0.0/8").unwrap_err().contains("cidr '10.0.0.0/8'"));
        for text in ["", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/+8", "::/129", "::/256", "10.0.0.0/8/8", "x/8"]
        {
            assert!(Network::read(text).is_err(), "{text}");
        }
    }
}

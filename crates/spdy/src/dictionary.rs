//! The words both sides know before the first header is compressed: section 2.6.10.1 of SPDY/3.

/// Each of these is preceded by its length in four bytes.
const WORDS: &str = "options head post put delete trace accept accept-charset accept-encoding accept-language \
    accept-ranges age allow authorization cache-control connection content-base content-encoding \
    content-language content-length content-location content-md5 content-range content-type date etag expect \
    expires from host if-match if-modified-since if-none-match if-range if-unmodified-since last-modified \
    location max-forwards pragma proxy-authenticate proxy-authorization range referer retry-after server te \
    trailer transfer-encoding upgrade user-agent vary via warning www-authenticate method get status 200|OK \
    version HTTP/1.1 url public set-cookie keep-alive origin";

/// These follow without lengths.
const TAIL: &str = "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505\
    203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized\
    403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable\
    Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT\
    chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,\
    text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";

pub(crate) fn dictionary() -> Vec<u8> {
    let mut dictionary = Vec::with_capacity(1423);
    // `200 OK` is one word; the bar stands for its space.
    for word in WORDS.split_whitespace() {
        let word = word.replace('|', " ");
        dictionary.extend(u32::try_from(word.len()).unwrap_or_default().to_be_bytes());
        dictionary.extend(word.as_bytes());
    }
    dictionary.extend(TAIL.as_bytes());
    dictionary
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dictionary_is_the_one_of_the_protocol() {
        let dictionary = dictionary();
        assert_eq!(dictionary.len(), 1423);
        // The identifier zlib writes into streams that need it.
        let (mut low, mut high) = (1_u32, 0_u32);
        for byte in dictionary {
            low = (low + u32::from(byte)) % 65521;
            high = (high + low) % 65521;
        }
        assert_eq!(high << 16 | low, 0xE3C6_A7C2);
    }
}

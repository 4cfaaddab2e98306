//! Of section G: watching (HS-93).

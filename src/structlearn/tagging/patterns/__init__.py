"""Feature templates of CRF++ and Wapiti, and the features that they make."""

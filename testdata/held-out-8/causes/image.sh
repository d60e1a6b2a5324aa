# Makes image.dcm of ROWS x COLUMNS bytes in the file pixels: image.sh ROWS COLUMNS
cat >image.dump <<END
(0008,0016) UI =SecondaryCaptureImageStorage
(0008,0018) UI [1.2.276.0.7230010.3.1.4.8.1]
(0008,0060) CS [OT]
(0010,0010) PN [Nobody]
(0010,0020) LO [1]
(0020,000d) UI [1.2.276.0.7230010.3.1.4.8.2]
(0020,000e) UI [1.2.276.0.7230010.3.1.4.8.3]
(0028,0002) US 1
(0028,0004) CS [MONOCHROME2]
(0028,0010) US $1
(0028,0011) US $2
(0028,0100) US 8
(0028,0101) US 8
(0028,0102) US 7
(0028,0103) US 0
(7fe0,0010) OW =pixels
END
dump2dcm -q image.dump image.dcm

#!/usr/bin/env bash
# Makes the small sounds and videos of the tests. Needs Debian 12's ffmpeg and sox; the results are committed, so that tests do
# not. Run it in this folder.
set -euo pipefail
cd "$(dirname "$0")"
ff() { ffmpeg -hide_banner -loglevel error -y -fflags +bitexact "$@"; }
exact=(-map_metadata -1 -flags:v +bitexact -flags:a +bitexact)

# Sound. Chirps, of which every part is different, so that a shift shows.
chirp() { # seconds [Hz gained per second]
    local k=${2:-2400}
    echo "aevalsrc=exprs='0.5*sin(2*PI*(200*t+$k*t*t/2))|0.25*sin(2*PI*(300*t+$k*t*t/3))':s=44100:d=$1"
}
mono() { echo "aevalsrc=exprs='0.5*sin(2*PI*(200*t+${3:-2400}*t*t/2))':s=$2:d=$1"; }
ff -f lavfi -i "$(chirp 0.25 26000)" "${exact[@]}" -c:a pcm_s16le chirp_44100_stereo.wav
ff -f lavfi -i "$(mono 0.25 48000 26000)" "${exact[@]}" -c:a pcm_s24le chirp_48000_s24.wav
ff -f lavfi -i "$(mono 0.25 8000 12000)" "${exact[@]}" -c:a pcm_f32le chirp_8000_f32.wav
ff -f lavfi -i "$(mono 0.25 16000)" "${exact[@]}" -c:a pcm_u8 chirp_16000_u8.wav
ff -f lavfi -i "$(mono 0.1 8000)" "${exact[@]}" -af "pan=6c|c0=c0|c1=c0|c2=c0|c3=c0|c4=c0|c5=c0" -c:a pcm_s16le six_channels.wav
ff -f lavfi -i "$(mono 0.25 16000)" "${exact[@]}" -c:a pcm_s16le -f wav - > piped.wav
ff -f lavfi -i "$(chirp 1)" "${exact[@]}" -c:a libmp3lame -b:a 64k chirp.mp3
ff -f lavfi -i "$(chirp 1)" "${exact[@]}" -c:a libmp3lame -b:a 64k -write_xing 0 -id3v2_version 0 chirp_no_header.mp3
ff -f lavfi -i "$(chirp 0.25)" "${exact[@]}" -c:a flac chirp.flac
ff -f lavfi -i "$(chirp 1)" "${exact[@]}" -c:a libvorbis -q:a 1 chirp_vorbis.ogg
ff -f lavfi -i "$(chirp 1)" "${exact[@]}" -c:a libopus -b:a 32k chirp_opus.ogg
ff -f lavfi -i "$(chirp 1)" "${exact[@]}" -c:a libopus -b:a 32k chirp_opus.webm
ff -f lavfi -i "$(chirp 1)" "${exact[@]}" -c:a aac -b:a 160k chirp.m4a
ff -f lavfi -i "$(chirp 1)" "${exact[@]}" -c:a aac -b:a 64k chirp.aac
ff -i chirp.m4a "${exact[@]}" -map 0:a -map 0:a -c copy two_tracks.m4a
# 31 s of silence with a click at 30.5 s: what is cut off is not all alike.
ff -f lavfi -i "aevalsrc=exprs='if(between(t,30.5,30.6),0.5,0)':s=8000:d=31" "${exact[@]}" -c:a flac 31_seconds.flac
# Debian's ffmpeg cannot write AMR; sox (package libsox-fmt-all) can.
sox -R -n -r 8000 -c 1 -t amr-nb sine.amr synth 0.2 sine 400 vol 0.5

# Video. testsrc2 has moving shapes and a running clock; each frame differs from its neighbours.
size=128x72
pattern() { echo "testsrc2=size=${2:-$size}:rate=$3:duration=$1"; }
x264=(-c:v libx264 -preset medium -threads 1)
ff -f lavfi -i "$(pattern 4 $size 25)" "${exact[@]}" "${x264[@]}" -g 25 -pix_fmt yuv420p h264.mp4
ff -f lavfi -i "$(pattern 3 $size 25)" -f lavfi -i "$(chirp 3)" -shortest "${exact[@]}" "${x264[@]}" -g 25 -pix_fmt yuv420p -c:a aac -b:a 32k h264_with_sound.mov
ff -f lavfi -i "$(pattern 3 $size 25)" "${exact[@]}" "${x264[@]}" -g 25 -x264-params open-gop=1 -pix_fmt yuv420p h264_open_gop.mkv
ff -f lavfi -i "$(pattern 2 $size 25)" "${exact[@]}" "${x264[@]}" -g 25 -x264-params intra-refresh=1 -pix_fmt yuv420p h264_intra_refresh.mp4
ff -f lavfi -i "$(pattern 2 $size 25)" "${exact[@]}" "${x264[@]}" -g 25 -flags +ildct+ilme -x264-params tff=1 -pix_fmt yuv420p h264_interlaced.mp4
ff -f lavfi -i "$(pattern 2 $size 25)" "${exact[@]}" "${x264[@]}" -pix_fmt yuv422p10le h264_422_10bit.mp4
ff -f lavfi -i "$(pattern 2 $size 25)" "${exact[@]}" "${x264[@]}" -g 10 -pix_fmt yuv420p h264.avi
ff -f lavfi -i "$(pattern 2 $size 25)" "${exact[@]}" -c:v libx265 -preset medium -x265-params "log-level=none:keyint=20:pools=1:frame-threads=1" -tag:v hvc1 -pix_fmt yuv420p hevc_open_gop.mp4
ff -f lavfi -i "$(pattern 2 $size 25)" "${exact[@]}" -c:v libvpx -b:v 60k -auto-alt-ref 1 -lag-in-frames 16 -g 20 vp8_alt_ref.webm
ff -f lavfi -i "$(pattern 2 $size 25)" "${exact[@]}" -c:v libvpx-vp9 -b:v 60k -auto-alt-ref 1 -lag-in-frames 16 -g 20 vp9.webm
ff -f lavfi -i "$(pattern 2 $size 25)" "${exact[@]}" -c:v libaom-av1 -cpu-used 8 -b:v 60k -g 20 av1.mp4
ff -f lavfi -i "$(pattern 1 $size 25)" "${exact[@]}" -c:v mpeg4 -b:v 100k -bf 2 -g 12 mpeg4_b_frames.avi
ff -f lavfi -i "$(pattern 0.4 $size 25)" "${exact[@]}" -c:v mjpeg -q:v 12 mjpeg.avi
ff -f lavfi -i "$(pattern 0.36 $size 25)" "${exact[@]}" "${x264[@]}" -pix_fmt yuv420p nine_frames.mp4
ff -f lavfi -i "$(pattern 2 97x55 25)" "${exact[@]}" "${x264[@]}" -pix_fmt yuv444p odd_size.mp4
ff -f lavfi -i "$(pattern 2 $size 25)" "${exact[@]}" "${x264[@]}" -vf "scale=out_color_matrix=bt709:out_range=full,format=yuv420p" -color_range pc -colorspace bt709 full_range_bt709.mp4
ff -f lavfi -i "$(pattern 3 $size 25)" "${exact[@]}" -vf "select='lt(n,25)+not(mod(n,5))'" -vsync vfr "${x264[@]}" -g 10 -pix_fmt yuv420p variable_rate.mkv
for turn in 90 180 270; do
    ff -i h264.mp4 "${exact[@]}" -c copy -t 1 -metadata:s:v:0 rotate=$turn rotated_$turn.mp4
done
# The first 0.5 s are in the file and not in the film: an edit list.
ff -ss 0.5 -i h264.mp4 "${exact[@]}" -c copy -t 2 edit_list.mp4
ff -i h264.mp4 "${exact[@]}" -c copy -t 2 -movflags frag_keyframe+empty_moov fragmented.mp4
# No cues, as when written into a pipe.
ff -i vp9.webm "${exact[@]}" -c copy -f webm - > no_cues.webm
ff -i chirp.m4a -f lavfi -i "color=red:size=32x32:duration=0.04:rate=25" "${exact[@]}" -map 0:a -map 1:v -c:a copy -c:v mjpeg -disposition:v attached_pic cover_art.m4a
du -ch --apparent-size ./*.* | tail -1

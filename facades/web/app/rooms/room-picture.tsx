import styles from './room-picture.module.css'

/** The picture of a room, if it has one. Its name stands beside it. */
export const RoomPicture = ({ avatar }: { avatar: string | null | undefined }) =>
  avatar ? <img className={styles.picture} src={`/proxy/storage/${avatar}`} alt="" /> : null

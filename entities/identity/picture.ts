/** Category of a picture, as in its identifier. */
export type PictureCategory = 'profile_avatars' | 'room_avatars' | 'assistant_avatars'

/** Identifies the default picture of the AI user. */
export const BUILT_IN_PICTURE = '00000000-0000-4000-8000-000000000001'

/** SQL for the identifier of a picture in addresses, from a column with the storage key `avatars/{uuid}.webp`. */
export const pictureIdentifier = (category: PictureCategory, avatar: string): string =>
  `'${category}-' || substr(${avatar}, 9, 36)`

/** SQL for the same of the AI user, who always has a picture. */
export const aiPictureIdentifier = (avatar: string): string =>
  `coalesce(${pictureIdentifier('profile_avatars', avatar)}, 'profile_avatars-${BUILT_IN_PICTURE}')`

/** Index for look-ups by the key of a picture, in the order in which stored files are listed. */
export const pictureIndex = (table: string) => ({
  name: `${table}_avatar_index`,
  expression: `create index "${table}_avatar_index" on "${table}" (avatar collate "C") where avatar is not null`,
})

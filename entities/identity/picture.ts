/** What a picture shows, as identifiers of pictures say it. */
export type PictureCategory = 'profile_avatars' | 'room_avatars'

/** Stands for the picture that the AI user has until it is given another. */
export const BUILT_IN_PICTURE = '00000000-0000-4000-8000-000000000001'

/** Names a picture in addresses, by a column with its storage key, `avatars/{uuid}.webp`. */
export const pictureIdentifier = (category: PictureCategory, avatar: string): string =>
  `'${category}-' || substr(${avatar}, 9, 36)`

/** The same for the AI user, who is never without a picture. */
export const aiPictureIdentifier = (avatar: string): string =>
  `coalesce(${pictureIdentifier('profile_avatars', avatar)}, 'profile_avatars-${BUILT_IN_PICTURE}')`

/** For rows that are found by the key of their picture, in the order in which stored files are listed. */
export const pictureIndex = (table: string) => ({
  name: `${table}_avatar_index`,
  expression: `create index "${table}_avatar_index" on "${table}" (avatar collate "C") where avatar is not null`,
})

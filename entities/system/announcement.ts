import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { id, moment, timestamps } from '../sql/columns.ts'

export const announcementTypes = ['policy', 'news', 'system', 'event', 'info'] as const
export type AnnouncementType = (typeof announcementTypes)[number]

/** An announcement for everybody or for selected people. Its texts are files, one per language. */
export const Announcement = defineEntity({
  name: 'Announcement',
  tableName: 'announcements',
  properties: {
    id,
    ...timestamps,
    title: p.string().length(200),
    /** The folder of its texts. */
    view: p.string().length(120),
    type: p.enum(announcementTypes),
    /** True if people must accept it before they write or ask a model; with an anchor, a front end asks for it. */
    isForced: p.boolean(),
    /** True if it is for everybody. */
    isGlobal: p.boolean(),
    /** The event of a front end at which it is shown. */
    anchor: p.string().length(60).nullable(),
    startsAt: moment().defaultRaw('now()'),
    expiresAt: moment().nullable(),
  },
})

/** A recipient of an announcement that is not for everybody. */
export const AnnouncementTarget = defineEntity({
  name: 'AnnouncementTarget',
  tableName: 'announcement_targets',
  properties: {
    announcement: () => p.manyToOne(Announcement).primary().deleteRule('cascade').ref(),
    user: () => p.manyToOne(User).primary().deleteRule('cascade').ref(),
  },
})

/** A receipt: a person has seen, and perhaps accepted, an announcement. */
export const AnnouncementReceipt = defineEntity({
  name: 'AnnouncementReceipt',
  tableName: 'announcement_receipts',
  properties: {
    user: () => p.manyToOne(User).primary().deleteRule('cascade').ref(),
    announcement: () => p.manyToOne(Announcement).primary().deleteRule('cascade').ref(),
    seenAt: moment().defaultRaw('now()'),
    acceptedAt: moment().nullable(),
    /** Version of the accepted text: its SHA-256, because files change. */
    version: p.string().length(64).nullable(),
  },
})

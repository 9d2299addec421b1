import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { id, moment, timestamps } from '../sql/columns.ts'

export const announcementTypes = ['policy', 'news', 'system', 'event', 'info'] as const
export type AnnouncementType = (typeof announcementTypes)[number]

/** What everybody, or those it is for, should read. Its texts are files, one for each language. */
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
    /** Whether people must accept it before they write or ask a model; with an anchor, a front end asks for that. */
    isForced: p.boolean(),
    /** Whether it is for everybody. */
    isGlobal: p.boolean(),
    /** The event of a front end at which it is shown. */
    anchor: p.string().length(60).nullable(),
    startsAt: moment().defaultRaw('now()'),
    expiresAt: moment().nullable(),
  },
})

/** For whom an announcement is that is not for everybody. */
export const AnnouncementTarget = defineEntity({
  name: 'AnnouncementTarget',
  tableName: 'announcement_targets',
  properties: {
    announcement: () => p.manyToOne(Announcement).primary().deleteRule('cascade').ref(),
    user: () => p.manyToOne(User).primary().deleteRule('cascade').ref(),
  },
})

/** That a person has seen an announcement, and accepted it. */
export const AnnouncementReceipt = defineEntity({
  name: 'AnnouncementReceipt',
  tableName: 'announcement_receipts',
  properties: {
    user: () => p.manyToOne(User).primary().deleteRule('cascade').ref(),
    announcement: () => p.manyToOne(Announcement).primary().deleteRule('cascade').ref(),
    seenAt: moment().defaultRaw('now()'),
    acceptedAt: moment().nullable(),
    /** Which text was accepted: its SHA-256, as files change. */
    version: p.string().length(64).nullable(),
  },
})

import type { Client } from '../../../client/index.ts'
import type { Salts } from '../../browser/crypto.ts'
import type { Session } from '../shared/session.tsx'

type Result<Call extends (...args: never[]) => Promise<unknown>> = Awaited<ReturnType<Call>>

export type Room = Result<Client['rooms']['get']['query']>
export type Member = Result<Client['roomMembers']['get']['query']>
export type StoredRoomMessage = Result<Client['roomMessages']['get']['query']>
export type RoomFile = Result<Client['attachments']['get']['query']>
export type MemberEvent = Result<Client['roomMembers']['events']['query']>[number]
export type StoredReactions = Result<Client['roomReactions']['list']['query']>[number]
export type Disclosure = Result<Client['rooms']['disclosures']['query']>['meta']['disclosures'][number]
export const roles = ['admin', 'editor', 'viewer'] as const
export type Role = (typeof roles)[number]

/** The labels of the roles. */
export const roleLabels = {
  admin: 'app.role.admin',
  editor: 'app.role.editor',
  viewer: 'app.role.viewer',
  assistant: 'app.role.assistant',
} as const

/** Returns the id of the person who is signed in. */
export const getOwnId = ({ connection }: Session): string => String(connection.userinfo?.id)

export const getSalts = ({ connection }: Session): Salts => connection.salts as unknown as Salts

interface AiConfig {
  handle?: string
}

const { brand = '' } = document.documentElement.dataset

/** Returns the words after `@` that address a model: the one that is suggested, and the brand of the service. */
export const getAiHandles = (session: Session): readonly string[] => [getAiHandle(session), brand]

/** Returns the word after `@` that is suggested to address a model. */
export const getAiHandle = ({ connection }: Session): string =>
  (((connection.configs['ai'] ?? {}) as AiConfig).handle ?? '').replace(/^@/, '')

export const canWrite = ({ role }: Room): boolean => role === 'admin' || role === 'editor'

/** The most records that are read one by one after a change. */
export const MAX_SINGLE_READS = 5

interface Page<T> {
  items: T[]
  total: number
}

/** Gives a page of related records its type, which the client leaves open. */
export const asPage = async <T>(answer: Promise<unknown>): Promise<Page<T>> => (await answer) as Page<T>

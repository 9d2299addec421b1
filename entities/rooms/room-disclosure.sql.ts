import { isoTime, statement, unboundedStatement } from '../sql/statement.ts'
import type { DisclosedKnowledge, DisclosedPart, DisclosureState } from './room-disclosure.ts'

/** SQL for the status of the answer that a row of the change log is about. */
export const statusOfAnswer = (change: string) => `case when ${change}.kind like 'room-disclosures.%'
    then (select json_build_object('model', d.model, 'isGenerating', d.state = 'answering', 'error', d.error)
            from room_disclosures d where d.id = ${change}.subject::int) end`

export interface AnswerTarget {
  role: string
  /** The AI user's membership; null if it is no member. */
  assistant: number | null
  /** True if the message to reply to exists, or none was given. */
  hasThread: boolean
  /** The answer to replace; null if it does not exist. */
  replaced: number | null
  /** The first asker; null if unknown. */
  askedBy: number | null
  /** Disclosed messages that belong to this room. */
  known: number[]
}

/**
 * Finds the target of an answer; nothing if the asker is no member. Values: the ids of the room, the asker and the AI
 * user, the message replied to, the answer to replace, and the disclosed messages.
 */
export const findAnswerTarget = statement<AnswerTarget>(
  'find-answer-target',
  `select m.role, a.id as assistant,
          $4::int is null or exists (select from room_messages t where t.id = $4::int and t.room_id = m.room_id
             and t.sub_seq = 0) as "hasThread",
          x.id as replaced,
          (select d.user_id from room_disclosures d where d.answer_id = x.id order by d.id limit 1) as "askedBy",
          coalesce((select json_agg(k.id) from room_messages k where k.room_id = m.room_id and k.id = any($6::int[])), '[]') as known
     from room_members m
     left join room_members a on a.room_id = m.room_id and a.user_id = $3::int and a.state = 'member'
     left join room_messages x on x.id = $5::int and x.room_id = m.room_id and x.member_id = a.id and x.deleted_at is null
    where m.room_id = $1::int and m.user_id = $2::int and m.state = 'member'`,
)

/**
 * Inserts a disclosure into a locked room, and deletes the oldest beyond the limit. Values: room, asker, provider,
 * model, parts as JSON, lease in milliseconds, the limit, the assistant or null, and the number of passages or null.
 */
export const beginDisclosure = statement<{ id: number; dropped: number[] }>(
  'begin-disclosure',
  `with begun as (
    insert into room_disclosures (room_id, user_id, provider, model, parts, state, lease_until, assistant, knowledge)
    values ($1, $2, $3, $4, $5::jsonb, 'answering', now() + $6::int * interval '1 ms', $8,
      case when $9::int is not null then jsonb_build_object('embedding', null, 'searches', '[]'::jsonb, 'passages', $9::int) end)
    returning id
  ), dropped as (
    delete from room_disclosures where id in (
      select id from room_disclosures where room_id = $1 order by id desc offset $7::int - 1) and state <> 'answering'
    returning id
  )
  select id, array(select id from dropped) as dropped from begun`,
)

/** Deletes the oldest disclosures. Values: months, and the batch size. */
export const deleteOldDisclosures = unboundedStatement<{ id: number; room: number }>(
  `delete from room_disclosures where id = any(array(
      select id from (select id, created_at, state from room_disclosures order by id limit $2) d
       where created_at < now() - $1::int * interval '1 month' and state <> 'answering'))
   returning id, room_id as room`,
)

/**
 * Ends a disclosure; selects nothing if it has already ended. Values: its id, state, error and the id of the answer.
 */
export const endDisclosure = statement<{ room: number }>(
  'end-disclosure',
  `update room_disclosures set state = $2, error = $3, answer_id = $4, ended_at = now(), lease_until = null
    where id = $1::int and state = 'answering' returning room_id as room`,
)

/**
 * Adds to what is disclosed of knowledge; selects nothing if the disclosure has ended. Values: its id, the embedding model
 * or null, the text that it will read or null, both as JSON, and the number of passages so far.
 */
export const discloseKnowledge = statement<{ id: number }>(
  'disclose-knowledge',
  `update room_disclosures
      set knowledge = jsonb_build_object('embedding', coalesce($2::jsonb, knowledge->'embedding'),
            'searches', (knowledge->'searches') || coalesce($3::jsonb, '[]'),
            'passages', greatest((knowledge->>'passages')::int, $4::int))
    where id = $1::int and state = 'answering' and knowledge is not null returning id`,
)

/**
 * Renews the leases of disclosures in progress whose askers may still write in the room. Values: ids, lease in
 * milliseconds.
 */
export const renewDisclosures = statement<{ id: number }>(
  'renew-disclosures',
  `update room_disclosures d set lease_until = now() + $2::int * interval '1 ms'
     from room_members m
    where d.id = any($1::int[]) and d.state = 'answering' and m.room_id = d.room_id and m.user_id = d.user_id
      and m.state = 'member' and m.role in ('admin', 'editor') returning d.id`,
)

/** Finds a disclosure with an expired lease; there is rarely one. */
export const findLostDisclosure = statement<{ id: number }>(
  'find-lost-disclosure',
  'select id from room_disclosures where lease_until < now() limit 1',
)

/**
 * Ends disclosures with an expired lease. Locks their rooms first, like every writer, and skips locked rooms until the
 * next run.
 */
export const endLostDisclosures = statement<{ id: number; room: number }>(
  'end-lost-disclosures',
  `with lost as (
    select d.id from room_disclosures d join rooms r on r.id = d.room_id where d.lease_until < now()
     order by d.id limit 100 for no key update of r, d skip locked
  )
  update room_disclosures d set state = 'lost', error = 'unavailable', ended_at = now(), lease_until = null
    from lost where d.id = lost.id returning d.id, d.room_id as room`,
)

/** Values: its id and the room's. */
export const findDisclosure = statement<{ user: number | null }>(
  'find-disclosure',
  'select user_id as "user" from room_disclosures where id = $1 and room_id = $2',
)

/**
 * Replaces an answer; selects nothing if it was deleted. Values: content, key epoch, model, metadata as JSON, the
 * message's id.
 */
export const replaceAnswer = statement<{ id: number }>(
  'replace-answer',
  `update room_messages
    set content = $1, key_epoch = $2, model = $3, metadata = $4::jsonb, edited_at = now(), updated_at = now()
  where id = $5 and deleted_at is null returning id`,
)

export interface ListedDisclosure {
  id: string
  user: string | null
  provider: string
  model: string
  /** The assistant that was asked, with its version, as in `helper@3`; null for a model that was asked itself. */
  assistant: string | null
  state: DisclosureState
  error: string | null
  createdAt: string
  endedAt: string | null
  /** The id of the answer in the room. */
  answer: string | null
  parts: DisclosedPart[]
  /** Null for an answer without knowledge. */
  knowledge: DisclosedKnowledge | null
}

/**
 * Lists disclosures; selects nothing if the viewer is no member. Values: the ids of the room and of the viewer, the id
 * before which to begin, and the limit.
 */
export const listDisclosures = unboundedStatement<{ disclosures: ListedDisclosure[] }>(
  `select coalesce((select json_agg(d order by d.n desc) from (
      select id as n, id::text, user_id::text as user, provider, model, assistant, state, error, ${isoTime('created_at')} as "createdAt",
             ${isoTime('ended_at')} as "endedAt", answer_id::text as answer, parts, knowledge
        from room_disclosures where room_id = m.room_id and id < $3::int order by id desc limit $4) d), '[]') as disclosures
     from room_members m where m.room_id = $1 and m.user_id = $2 and m.state = 'member'`,
)

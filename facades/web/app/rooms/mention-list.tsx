import { t } from '../shared/text/labels.ts'
import { handleOf } from './room.ts'
import { useRoom, useRoomView } from './room-context.ts'
import { memberName, peopleIn } from './room-members.ts'

interface MentionListProps {
  text: string
  field: { current: HTMLTextAreaElement | null }
  write: (text: string) => void
}

const MOST = 5

/** Offers who may be meant by the word behind the last `@`. */
export function MentionList({ text, field, write }: MentionListProps) {
  const { session } = useRoom()
  const members = useRoomView((view) => view.members)
  const own = useRoomView((view) => view.own?.id)
  const begun = /(?:^|\s)@([\w.-]*)$/.exec(text)?.[1]
  if (begun === undefined) return null
  const people = peopleIn(members)
    .filter(({ id }) => id !== own)
    .map((member) => ({ word: member.username ?? '', name: memberName(member) }))
  const everybody = [{ word: handleOf(session), name: t('app.rooms.aModel') }, ...people]
  const wanted = begun.toLocaleLowerCase()
  const offered = everybody
    .filter(({ word, name }) => word.toLowerCase().startsWith(wanted) || name.toLocaleLowerCase().startsWith(wanted))
    .filter(({ word }) => word !== begun)
    .slice(0, MOST)
  if (offered.length === 0) return null
  const choose = (word: string) => {
    write(`${text.slice(0, text.length - begun.length)}${word} `)
    field.current?.focus()
  }
  return (
    <ul className="mention-list" aria-label={t('app.rooms.mention')}>
      {offered.map(({ word, name }) => (
        <li key={word}>
          <button type="button" className="plain-button" onClick={() => choose(word)}>
            {name} <span className="hint">@{word}</span>
          </button>
        </li>
      ))}
    </ul>
  )
}

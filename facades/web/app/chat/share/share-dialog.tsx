import { useState } from 'react'
import {
  describeLimit,
  describeLink,
  endLink,
  findLinkNumber,
  getRenewalDays,
  type LinkRules,
  type OwnLink,
  renewLink,
  USUAL_DAYS,
  useLinks,
} from '../../shared/own-links.ts'
import { useSession } from '../../shared/session.tsx'
import { t } from '../../shared/text/labels.ts'
import { Button } from '../../shared/ui/button.tsx'
import { Choice, ExplainedChoice } from '../../shared/ui/choice.tsx'
import { ConfirmButton } from '../../shared/ui/confirm-button.tsx'
import { CopyButton } from '../../shared/ui/copy-button.tsx'
import { DialogText } from '../../shared/ui/dialog.tsx'
import { ErrorMessage } from '../../shared/ui/error-message.tsx'
import { FieldGroup, LabelledField } from '../../shared/ui/field.tsx'
import { FormDialog, KEEP_OPEN } from '../../shared/ui/form-dialog.tsx'
import { Input, Select } from '../../shared/ui/input.tsx'
import { Toolbar } from '../../shared/ui/toolbar.tsx'
import { type Readers, shareBranch, updateLink } from './share-branch.ts'
import styles from './share-dialog.module.css'

/** Makes links to copies of the branch that is shown, and lists those that there are. */
export function ShareDialog({ slug, close }: { slug: string; close: () => void }) {
  const { conversationKey: key } = useSession()
  const { data, error } = useLinks(key, slug)
  const canShare = data?.rules.mayShare ?? false
  const save = async (form: FormData) => {
    if (data) await shareBranch({ key, slug, rules: data.rules }, readReaders(form), readOptions(form))
    return KEEP_OPEN
  }
  return (
    <FormDialog
      title={t('app.share')}
      action={t('app.share.make')}
      width="wide"
      {...(canShare && { save })}
      close={close}
    >
      <DialogText>{t(data && !canShare ? 'app.share.off' : 'app.share.about')}</DialogText>
      <ErrorMessage error={error} />
      {data && data.links.length > 0 && (
        <ul className={styles.links} aria-label={t('app.share.links')}>
          {data.links.map((link) => (
            <LinkRow
              key={link.id}
              slug={slug}
              link={link}
              number={findLinkNumber(link, data.links)}
              rules={data.rules}
            />
          ))}
        </ul>
      )}
      {canShare && data && <ShareFields rules={data.rules} />}
    </FormDialog>
  )
}

/** The days that are offered until a link ends, as far as the service allows them. */
const offeredDays = [1, 7, 30, 90, 365]

function listDays(maxDays: number): number[] {
  const days = offeredDays.filter((each) => each <= maxDays)
  return days.length > 0 ? days : [maxDays]
}

const GROUP_PREFIX = 'group:'

function ShareFields({ rules: { maySharePublicly, groups, maxDays } }: { rules: LinkRules }) {
  const days = listDays(maxDays)
  return (
    <>
      <LabelledField label={t('app.share.readers')} hint={t('app.share.readersHint')}>
        {(control) => (
          <Select {...control} name="readers">
            <option value="people">{t('app.share.people')}</option>
            {groups.map((group) => (
              <option key={group} value={GROUP_PREFIX + group}>
                {t('app.share.group', { name: group })}
              </option>
            ))}
            {maySharePublicly && <option value="everybody">{t('app.share.everybody')}</option>}
          </Select>
        )}
      </LabelledField>
      <LabelledField label={t('app.share.ends')}>
        {(control) => (
          <Select {...control} name="days" defaultValue={days.includes(USUAL_DAYS) ? USUAL_DAYS : days.at(-1)}>
            {days.map((count) => (
              <option key={count} value={count}>
                {t('app.share.days', { count })}
              </option>
            ))}
          </Select>
        )}
      </LabelledField>
      <FieldGroup label={t('app.share.also')}>
        <Choice name="files" label={t('app.share.files')} />
        <Choice name="instructions" label={t('app.share.instructions')} />
        <ExplainedChoice name="tools" label={t('app.share.tools')} hint={t('app.share.toolsHint')} />
      </FieldGroup>
    </>
  )
}

function readReaders(form: FormData): Readers {
  const [readers, days] = [String(form.get('readers')), Number(form.get('days'))]
  if (readers.startsWith(GROUP_PREFIX))
    return { audience: 'groups', groups: [readers.slice(GROUP_PREFIX.length)], days }
  return { audience: readers === 'everybody' ? 'everybody' : 'people', days }
}

const readOptions = (form: FormData) => ({
  files: form.has('files'),
  instructions: form.has('instructions'),
  tools: form.has('tools'),
})

interface LinkRowProps {
  slug: string
  link: OwnLink
  /** Tells it from the others, unless it is the only one. */
  number: number | undefined
  rules: LinkRules
}

/** A link with what can be done with it. */
function LinkRow({ slug, link, number, rules }: LinkRowProps) {
  const { conversationKey: key } = useSession()
  const [state, setState] = useState<{ isWorking?: boolean; text?: string; error?: unknown }>({})
  const run = async (action: () => Promise<void>, text: string) => {
    setState({ isWorking: true })
    await action().then(
      () => setState({ text }),
      (error: unknown) => setState({ error }),
    )
  }
  const { address, isEnded } = link
  const days = getRenewalDays(rules)
  const limit = describeLimit(link, rules)
  const canChange = !isEnded && rules.mayShare
  /** Names what belongs to one of several links. */
  const nameText = (text: string) => (number === undefined ? text : `${text}: ${t('app.share.numbered', { number })}`)
  const removal = t(isEnded ? 'app.share.remove' : 'app.share.end')
  return (
    <li className={styles.link}>
      {number !== undefined && <strong>{t('app.share.numbered', { number })}</strong>}
      {!isEnded && <LinkAddress address={address} nameText={nameText} />}
      <p className="hint">{describeLink(link)}</p>
      {limit !== undefined && <p className="error">{limit}</p>}
      <Toolbar>
        {canChange && address !== undefined && (
          <Button
            disabled={state.isWorking}
            aria-label={nameText(t('app.share.update'))}
            title={t('app.share.updateHint')}
            onClick={() => run(() => updateLink({ key, slug, rules }, link), t('app.share.updated'))}
          >
            {t('app.share.update')}
          </Button>
        )}
        {canChange && (
          <Button
            disabled={state.isWorking}
            aria-label={nameText(t('app.share.renew', { count: days }))}
            onClick={() => run(() => renewLink(link, days), t('app.share.renewed'))}
          >
            {t('app.share.renew', { count: days })}
          </Button>
        )}
        <ConfirmButton
          label={nameText(removal)}
          confirmation={isEnded ? undefined : confirmEnd()}
          act={() => run(() => endLink(link), '')}
        >
          {removal}
        </ConfirmButton>
      </Toolbar>
      <p role="status" className="hint">
        {state.text}
      </p>
      <ErrorMessage error={state.error} />
    </li>
  )
}

const confirmEnd = () => ({
  title: t('app.share.endTitle'),
  text: t('app.share.endText'),
  action: t('app.share.end'),
})

/** The whole link, to be copied. */
function LinkAddress({ address, nameText }: Pick<OwnLink, 'address'> & { nameText: (text: string) => string }) {
  if (address === undefined) return <p className="error">{t('app.share.damaged')}</p>
  return (
    <div className={styles.address}>
      <Input
        readOnly
        value={address}
        aria-label={nameText(t('app.share.address'))}
        onFocus={({ currentTarget }) => currentTarget.select()}
      />
      <CopyButton text={address} label={nameText(t('app.share.copyAddress'))} />
    </div>
  )
}

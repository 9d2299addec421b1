import { useEffect, useState } from 'react'
import { AnswerParts } from '../shared/conversation/answer-parts.tsx'
import { AnswerView, QuestionText, QuestionView } from '../shared/conversation/chat-message.tsx'
import { Details, DetailsPart } from '../shared/conversation/details.tsx'
import { FileButton, FileList } from '../shared/conversation/file-list.tsx'
import { MoreButton } from '../shared/conversation/message-log.tsx'
import { saveFile } from '../shared/save-file.ts'
import type { SharedCopy, SharedFile, SharedMessage } from '../shared/shared-copy.ts'
import { t } from '../shared/text/labels.ts'
import { Icon } from '../shared/ui/icon.tsx'
import { SourceBoundary } from '../shared/ui/source-boundary.tsx'

/** The messages that are added to the page at once, as all of a long chat would take too long. */
const STEP = 100

/** The messages of a copy, which can only be read. */
export function SharedMessages({ copy: { instructions, messages } }: { copy: SharedCopy }) {
  const [shown, setShown] = useState(STEP)
  return (
    <>
      {instructions !== '' && (
        <Details summary={t('page.shared.instructions')}>
          <DetailsPart>
            <p className="plain-text" dir="auto">
              {instructions}
            </p>
          </DetailsPart>
        </Details>
      )}
      {messages.slice(0, shown).map((message, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a copy does not change.
        <SourceBoundary key={index} source={message.answer.text}>
          {message.role === 'user' ? <Question message={message} /> : <SharedAnswer message={message} />}
        </SourceBoundary>
      ))}
      {shown < messages.length && (
        <MoreButton label={t('app.messages.later')} show={() => setShown(shown + STEP)} position={String(shown)} />
      )}
    </>
  )
}

const Question = ({ message: { answer, files, omittedFiles } }: { message: SharedMessage }) => (
  <QuestionView name={t('page.shared.question')}>
    <Files files={files} />
    {omittedFiles > 0 && <p className="hint">{t('page.shared.omittedFiles', { count: omittedFiles })}</p>}
    {answer.text !== '' && <QuestionText>{answer.text}</QuestionText>}
  </QuestionView>
)

const SharedAnswer = ({ message: { modelLabel, answer, files } }: { message: SharedMessage }) => (
  <AnswerView name={modelLabel}>
    <Files files={files} />
    <AnswerParts answer={answer} isStreaming={false} canApprove={false} isCopy />
    {answer.cut !== undefined && <p className="hint">{t('app.cut.interrupted')}</p>}
  </AnswerView>
)

const Files = ({ files }: { files: readonly SharedFile[] }) =>
  files.length > 0 && (
    <FileList>
      {files.map((file, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a copy does not change.
        <li key={index}>
          <FileButton
            name={file.name}
            picture={<FilePicture file={file} />}
            onClick={() => saveFile(file.content, file.name)}
          />
        </li>
      ))}
    </FileList>
  )

/** Pictures without scripts. */
const pictureTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif']

function FilePicture({ file: { content, mime } }: { file: SharedFile }) {
  const [address, setAddress] = useState<string>()
  useEffect(() => {
    if (!pictureTypes.includes(mime)) return
    const made = URL.createObjectURL(content)
    setAddress(made)
    return () => URL.revokeObjectURL(made)
  }, [content, mime])
  return address === undefined ? <Icon name="file" /> : <img src={address} alt="" />
}
